#pragma once
// What one rank alone has met.

#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Says on stderr, with rank and host, why this rank has failed. Where it failed inside a
/// collective, the others wait there for ever and never come to agree on a row: what is said now is
/// then all that whoever ends the job can quote. Nothing for one rank.
void report_rank_failure(const Communicator& ranks, const std::string& reason);

}  // namespace assay
