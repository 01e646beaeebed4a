#include "core/measure/rank_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <vector>

namespace assay {

void report_rank_failure(const Communicator& ranks, const std::string& reason) {
  if (ranks.size() == 1) return;
  // One write: those of several ranks meet in the launcher's stderr.
  std::cerr << "rank " + std::to_string(ranks.rank()) + " on " + ranks.host() + ": " + reason + "\n"
            << std::flush;
}

std::string fault_of_any(const std::string& fault, Communicator& ranks) {
  const std::vector<std::string> faults = ranks.allgather(fault);
  const auto first = std::find_if(faults.begin(), faults.end(),
                                  [](const std::string& found) { return !found.empty(); });
  if (first == faults.end()) return "";
  if (std::count(faults.begin(), faults.end(), *first) == std::ssize(faults)) return *first;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  const auto rank = static_cast<std::size_t>(first - faults.begin());
  return fmt::format("rank {} on {}: {}", rank, hosts[rank], *first);
}

}  // namespace assay
