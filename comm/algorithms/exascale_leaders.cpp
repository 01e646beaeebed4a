#include "comm/algorithms/exascale_leaders.hpp"

#include <hwloc.h>

#include <map>
#include <string>

namespace assay {

namespace {

int own_socket() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return -1;
  int socket = -1;
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  if (hwloc_topology_load(topology) == 0 &&
      hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_obj_t package = nullptr;
    while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != nullptr)
      if (hwloc_bitmap_isincluded(bound, package->cpuset))
        socket = static_cast<int>(package->logical_index);
  }
  hwloc_bitmap_free(bound);
  hwloc_topology_destroy(topology);
  return socket;
}

}  // namespace

std::vector<int> sockets_of(Communicator& node) {
  std::vector<int> sockets;
  for (const std::string& text : node.gather(std::to_string(own_socket())))
    sockets.push_back(std::stoi(text));
  return sockets;
}

std::vector<int> exascale_leaders(const std::vector<int>& sockets) {
  std::map<int, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < sockets.size(); ++rank)
    if (sockets[rank] >= 0) ranks[sockets[rank]].push_back(static_cast<int>(rank));
  std::vector<int> chosen;
  for (const auto& [socket, all] : ranks)
    if (all.size() >= 2 && chosen.size() < 4) chosen.insert(chosen.end(), {all[0], all[1]});
  if (chosen.size() == 4) return chosen;
  const int half = static_cast<int>(sockets.size()) / 2;
  return {0, 1, half, half + 1};
}

}  // namespace assay
