#pragma once
// Placement of a case on NUMA nodes and hardware threads.

#include <cstddef>
#include <memory>
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
/// `smt`: each thread to its own hardware thread, this many on each core. "any" undoes an earlier
/// binding. Returns the reason if it is not possible, else nothing. InputError if a value is
/// neither "any" nor a number.
std::optional<std::string> why_not_placed(const Placement& placement, int threads);

/// Valid values of Placement for this process: numbers of NUMA nodes, and of hardware threads of a
/// core ("1", "2").
std::vector<std::string> numa_nodes();
std::vector<std::string> smt_levels();
/// Numbers of threads that fill the machine or one NUMA node: one for each core, and one for each
/// hardware thread.
std::vector<int> full_teams();

/// The parts of the machine that have memory and processors which this process may use, by name:
/// NUMA nodes as the system counts them ("numa0"), sockets as hwloc does ("socket0").
std::vector<std::string> list_memory_places();
/// Binds thread i of the OpenMP team to the processors of places[i], until the next call of this
/// function or why_not_placed(). Returns the reason if it is not possible, else nothing.
std::optional<std::string> why_not_spread(const std::vector<std::string>& places);
/// Memory of whole pages at a place, zeroed. CaseError if too little is free there.
std::shared_ptr<void> memory_at(const std::string& place, std::size_t bytes);
/// Why it is not certain that all pages of the memory are at the place; "" if they are.
std::string why_not_at(const std::string& place, const void* data, std::size_t bytes);

}  // namespace assay
