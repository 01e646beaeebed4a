#pragma once
// The parts of the machine to which this process is bound. Results record them: two ranks bound to
// one core, or all ranks on one socket, often explain a slow collective.

#include <string>
#include <vector>

namespace assay {

/// hwloc's logical indices of the parts that this process may use. Empty if hwloc cannot tell.
struct Binding {
  std::vector<int> sockets, numa_nodes, cores;
  std::string fault{};  ///< why hwloc cannot tell
};
Binding binding_of_process();

}  // namespace assay
