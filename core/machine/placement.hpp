#pragma once
// Placement of a case on NUMA nodes and hardware threads.

#include <optional>
#include <string>
#include <vector>

namespace assay {

/// "any" leaves the choice to the system.
struct Placement {
  std::string numa = "any";  ///< number of the NUMA node, as the system counts
  std::string smt = "any";   ///< hardware threads that are used of each core
};

/// Binds a team of `threads` OpenMP threads. `numa`: to the processors and the memory of this node.
/// `smt`: each thread to a hardware thread of its own, with so many of them on each core. "any"
/// undoes an earlier binding. Returns the reason if it is not possible, else nothing. InputError if
/// a value is neither "any" nor a number.
std::optional<std::string> why_not_placed(const Placement& placement, int threads);

/// Valid values of Placement for this process: numbers of NUMA nodes, and of hardware threads of a
/// core ("1", "2").
std::vector<std::string> numa_nodes();
std::vector<std::string> smt_levels();
/// Numbers of threads that fill the machine or one NUMA node: one for each core, and one for each
/// hardware thread.
std::vector<int> full_teams();

}  // namespace assay
