#include "core/placement.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/error.hpp"

namespace assay {
namespace {

struct FreeTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

/// The part of the machine that this process may use, as it was at the first call.
struct Machine {
  Topology topology;
  hwloc_bitmap_t processors = nullptr;  ///< of the process before anything was bound; never freed

  Machine() {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return;
    topology.reset(made);
    if (hwloc_topology_load(made) != 0 || hwloc_topology_is_thissystem(made) == 0) {
      topology.reset();
      return;
    }
    processors = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(made, processors, HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(processors, hwloc_topology_get_allowed_cpuset(made));
  }
};

/// Memory policies are each thread's own.
bool bind_memory(hwloc_topology_t topology, hwloc_const_bitmap_t nodes,
                 hwloc_membind_policy_t policy, int threads) {
  std::atomic<int> failures = 0;
#pragma omp parallel num_threads(threads)
  if (hwloc_set_membind(topology, nodes, policy, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) !=
      0)
    ++failures;
  return failures == 0;
}

}  // namespace

std::optional<std::string> why_not_node(const std::string& node, int threads) {
  static const Machine machine;
  static bool bound = false;
  const hwloc_topology_t topology = machine.topology.get();
  if (node == "any") {
    if (!bound) return std::nullopt;
    bound = false;
    hwloc_set_cpubind(topology, machine.processors, HWLOC_CPUBIND_PROCESS);
    bind_memory(topology, hwloc_topology_get_allowed_nodeset(topology), HWLOC_MEMBIND_DEFAULT,
                threads);
    return std::nullopt;
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), number);
  if (error != std::errc() || end != node.data() + node.size())
    throw InputError(
        fmt::format("'{}' is no NUMA node (a number, or any). See `numactl --hardware`.", node));
  if (topology == nullptr) return "hwloc could not read this machine, whose nodes are unknown.";
  const hwloc_obj_t place = hwloc_get_numanode_obj_by_os_index(topology, number);
  if (place == nullptr)
    return fmt::format("there is no NUMA node {} that this process may use (it may use {}).",
                       number, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
  const int processors = hwloc_bitmap_weight(place->cpuset);
  if (processors < threads)
    return fmt::format("NUMA node {} has {} hardware threads ({} were asked for).", number,
                       processors, threads);
  bound = true;
  if (hwloc_set_cpubind(topology, place->cpuset, HWLOC_CPUBIND_PROCESS) != 0 ||
      !bind_memory(topology, place->nodeset, HWLOC_MEMBIND_BIND, threads)) {
    const std::string why = std::strerror(errno);
    why_not_node("any", threads);
    return fmt::format("the system does not bind to NUMA node {} ({}).", number, why);
  }
  return std::nullopt;
}

}  // namespace assay
