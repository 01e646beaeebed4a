#include "core/places.hpp"

#include <hwloc.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace assay {

using nlohmann::json;

namespace {

std::vector<int> touched(hwloc_topology_t topology, hwloc_obj_type_t type,
                         hwloc_const_bitmap_t allowed) {
  std::vector<int> numbers;
  for (hwloc_obj_t one = nullptr;
       (one = hwloc_get_next_obj_by_type(topology, type, one)) != nullptr;)
    if (one->cpuset != nullptr && hwloc_bitmap_intersects(one->cpuset, allowed))
      numbers.push_back(static_cast<int>(one->logical_index));
  return numbers;
}

json or_null(const std::vector<int>& numbers) { return numbers.empty() ? json() : json(numbers); }

}  // namespace

Place place_of_process() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> ends(
      topology, &hwloc_topology_destroy);
  // Processors that the process may not use count for the numbering, too: "socket 1" is then the
  // same on every rank of a host.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return {};
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> allowed(hwloc_bitmap_alloc(),
                                                                              &hwloc_bitmap_free);
  if (!allowed || hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  return {touched(topology, HWLOC_OBJ_PACKAGE, allowed.get()),
          touched(topology, HWLOC_OBJ_NUMANODE, allowed.get()),
          touched(topology, HWLOC_OBJ_CORE, allowed.get())};
}

json places_of(Communicator& ranks) {
  const Place place = place_of_process();
  const json mine = {{"rank", ranks.rank()},
                     {"host", ranks.host()},
                     {"node", ranks.node()},
                     {"sockets", or_null(place.sockets)},
                     {"numa_nodes", or_null(place.numa_nodes)},
                     {"cores", or_null(place.cores)}};
  json all = json::array();
  for (const std::string& text : ranks.gather(mine.dump())) all.push_back(json::parse(text));
  return all;
}

}  // namespace assay
