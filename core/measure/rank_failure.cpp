#include "core/measure/rank_failure.hpp"

#include <iostream>

#include "core/measure/agreement.hpp"

namespace assay {

void report_rank_failure(const Communicator& ranks, const std::string& reason) {
  if (ranks.size() == 1) return;
  // A single write, because messages of several ranks mix in the launcher's stderr.
  std::cerr << "rank " + std::to_string(ranks.rank()) + " on " + ranks.host() + ": " + reason + "\n"
            << std::flush;
}

std::string find_fault_of_any(const std::string& fault, Communicator& ranks) {
  return Agreement(fault, ranks).describe();
}

}  // namespace assay
