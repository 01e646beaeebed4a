#include "core/machine/binding.hpp"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace assay {

namespace {

std::vector<int> list_objects(hwloc_topology_t topology, hwloc_obj_type_t type,
                              hwloc_const_bitmap_t allowed) {
  std::vector<int> numbers;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
    if (object->cpuset != nullptr && hwloc_bitmap_intersects(object->cpuset, allowed))
      numbers.push_back(static_cast<int>(object->logical_index));
  return numbers;
}

/// The fault of a call of hwloc that failed; errno has the cause.
Binding make_unknown_binding(const char* what) {
  Binding binding;
  binding.fault = std::string("hwloc cannot ") + what + ": " + std::strerror(errno);
  return binding;
}

}  // namespace

Binding binding_of_process() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return make_unknown_binding("begin");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> ends(
      topology, &hwloc_topology_destroy);
  // Processors that the process may not use are numbered, too, so "socket 1" is the same on every
  // rank of a host.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return make_unknown_binding("read the topology");
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> allowed(hwloc_bitmap_alloc(),
                                                                              &hwloc_bitmap_free);
  if (!allowed || hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0)
    return make_unknown_binding("read the binding");
  return {list_objects(topology, HWLOC_OBJ_PACKAGE, allowed.get()),
          list_objects(topology, HWLOC_OBJ_NUMANODE, allowed.get()),
          list_objects(topology, HWLOC_OBJ_CORE, allowed.get())};
}

}  // namespace assay
