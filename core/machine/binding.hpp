#pragma once
// Which parts of the machine this process may use. Two ranks bound to one core, or all ranks on one
// socket, explain a slow collective better than any network.

#include <vector>

namespace assay {

/// hwloc's logical indices of what this process may use. Empty where hwloc cannot tell.
struct Binding {
  std::vector<int> sockets, numa_nodes, cores;
};
Binding binding_of_process();

}  // namespace assay
