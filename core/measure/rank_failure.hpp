#pragma once
// The failure of a single rank.

#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Prints on stderr, with rank and host, why this rank has failed. After a failure inside a
/// collective the other ranks wait for ever, and no row is agreed on. This line is then the only
/// reason that can be quoted when the job is ended. Prints nothing in a job of one rank.
void report_rank_failure(const Communicator& ranks, const std::string& reason);

}  // namespace assay
