#pragma once
// The pre-flight of a run: whether the launcher starts what it is asked for, seen by the processes
// themselves, before anything is timed.

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run/processes.hpp"

namespace assay {

/// What one process saw of itself (`assay placement`).
struct PlacedProcess {
  std::string host;
  int rank = 0, size = 1;
  std::vector<int> cores, numa_nodes, sockets;  ///< hwloc's logical indices of what it may use
  std::string threads_fault;  ///< why it cannot have the threads that were asked for, or ""
  std::string device_fault;   ///< why no backend reaches the site's accelerator, or ""
};

/// One line, and back; nothing for a line that is none (launchers mix their own words in).
std::string line_of(const PlacedProcess& process);
std::vector<PlacedProcess> placed_processes(const std::string& output);

/// This process; `threads` OpenMP threads are tried (0: not), and a backend for a device whose name
/// has the text `device` ("": none).
PlacedProcess placed_here(int threads, const std::string& device);

/// What differs from what was asked for, or "": a number of processes, nodes, or processes of a
/// node; a rank on other or fewer cores than it was to have; two ranks on one core where each was
/// bound to its own.
std::string placement_fault(const ProcessShape& shape, const std::vector<PlacedProcess>& found);

/// Starts `assay placement` once for each shape that asks for more than a number of ranks, and for
/// all where a device is expected: rows of processors under the name of a machine of accelerators
/// would mislead. CaseError if one is not what was asked for, or cannot be started.
void preflight(const std::vector<Processes>& groups, const std::string& device,
               const std::filesystem::path& assay, const std::filesystem::path& scratch);

}  // namespace assay
