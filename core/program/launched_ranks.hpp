#pragma once
// The communicator over the processes that a launcher has started.

#include <memory>

#include "core/program/plugins.hpp"

namespace assay {

/// Connects the launched processes with the first transport that can, of those that declare
/// LAUNCHED (cmake/AssayBackend.cmake). Without a launcher, returns the serial communicator.
/// CaseError, with the reason of each transport, if none can.
std::unique_ptr<Communicator> connect_launched_ranks(Plugins& plugins);

}  // namespace assay
