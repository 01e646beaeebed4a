#pragma once
// The pre-flight of a run: before anything is timed, the started processes report where they run,
// and this is compared with the requested placement.

#include <filesystem>
#include <string>
#include <vector>

#include "runner/launch/processes.hpp"

namespace assay {

/// The placement that one process reports (`assay placement`).
struct PlacedProcess {
  std::string host{};
  int rank = 0, size = 1;
  std::vector<int> cores{}, numa_nodes{}, sockets{};  ///< cores that it may use: hwloc's logical
                                                      ///< indices
  std::string threads_fault{};  ///< why it cannot start the requested threads, or ""
  std::string device_fault{};   ///< why no backend can use the site's accelerator, or ""
  std::string binding_fault{};  ///< why its cores are unknown, or ""
};

/// The report as one line, and the reports in an output. Other lines are skipped, because launchers
/// add their own lines.
std::string make_line(const PlacedProcess& process);
std::vector<PlacedProcess> read_placed_processes(const std::string& output);

/// The placement of this process. Starts `threads` OpenMP threads (0: none) to check that this is
/// possible, and looks for a backend with a device whose name contains `device` ("": none).
PlacedProcess locate_process(int threads, const std::string& device);

/// The first difference between the requested and the actual placement, or "". It may be: the
/// number of processes, nodes, or processes of a node; a node that was not named; a rank with fewer
/// or other cores than requested, or whose cores cannot be read back; two ranks on one core
/// although each should be bound to its own; a host whose ranks, bound to NUMA nodes or sockets,
/// have fewer cores together than threads.
std::string find_placement_fault(const ProcessShape& shape,
                                 const std::vector<PlacedProcess>& processes);

/// Starts `assay placement` once for each shape that sets more than a number of ranks; for all
/// shapes if a device is expected, because rows measured on the processor would otherwise appear
/// under the name of a machine with accelerators. CaseError if a placement differs from the
/// requested one, or the processes cannot be started.
void preflight(const std::vector<Processes>& groups, const std::string& device,
               const std::filesystem::path& assay, const std::filesystem::path& scratch);

}  // namespace assay
