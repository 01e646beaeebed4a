#pragma once
// Where on a machine of several memories, and of cores with several hardware threads, a case runs.

#include <optional>
#include <string>
#include <vector>

namespace assay {

/// "any" leaves the choice to the system.
struct Placement {
  std::string numa = "any";  ///< number of the NUMA node, as the system counts
  std::string smt = "any";   ///< hardware threads that are used of each core
};

/// Binds the next `threads` OpenMP threads: to the processors and the memory of a NUMA node, and
/// each to a hardware thread of its own, `smt` of them on each core, core by core. "any" takes an
/// earlier binding back. Why it cannot, or nothing. InputError for a text that is no number.
std::optional<std::string> why_not_placed(const Placement& placement, int threads);

/// What this process may use: NUMA nodes, and numbers of hardware threads of a core ("1", "2").
std::vector<std::string> numa_nodes();
std::vector<std::string> smt_levels();
/// Threads that fill a part of the machine: all cores, all hardware threads, those of each node.
std::vector<int> full_teams();

}  // namespace assay
