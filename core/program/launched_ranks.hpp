#pragma once
// The processes that a launcher has started, as one job.

#include <memory>

#include "core/program/plugins.hpp"

namespace assay {

/// The launched processes over the first transport that can join them, of those that declare so
/// (LAUNCHED, cmake/AssayBackend.cmake); the serial communicator where no launcher started this
/// one. CaseError where several were started and no transport joins them.
std::unique_ptr<Communicator> launched_ranks(Plugins& plugins);

}  // namespace assay
