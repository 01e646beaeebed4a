#pragma once
// The failure of a single rank.

#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Prints to stderr, with rank and host, why this rank has failed. If a rank fails inside a
/// collective, the other ranks wait forever and the ranks cannot agree on a row; after the job is
/// killed, this line is the only record of the reason. Prints nothing in a job of one rank.
void report_rank_failure(const Communicator& ranks, const std::string& reason);

}  // namespace assay
