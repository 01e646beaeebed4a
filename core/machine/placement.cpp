#include "core/machine/placement.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/unsupported.hpp"

namespace assay {
namespace {

struct FreeTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Processors = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;
Processors no_processors() { return Processors(hwloc_bitmap_alloc()); }

/// The part of the machine that this process may use, as it was at the first call.
struct Machine {
  Topology topology;
  Processors processors;  ///< of the process before anything was bound

  Machine() {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return;
    topology.reset(made);
    if (hwloc_topology_load(made) != 0 || hwloc_topology_is_thissystem(made) == 0) {
      topology.reset();
      return;
    }
    processors = no_processors();
    if (hwloc_get_cpubind(made, processors.get(), HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(processors.get(), hwloc_topology_get_allowed_cpuset(made));
  }
};

const Machine& machine() {
  static const Machine only;
  return only;
}

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

/// The hardware threads of each core that lie in `within`, core by core.
std::vector<std::vector<unsigned>> cores_of(const Machine& on, hwloc_const_bitmap_t within) {
  std::vector<std::vector<unsigned>> cores;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(on.topology.get(), HWLOC_OBJ_CORE, core)) != nullptr;) {
    std::vector<unsigned> threads;
    unsigned processor = 0;
    hwloc_bitmap_foreach_begin(processor, core->cpuset) if (hwloc_bitmap_isset(within, processor) !=
                                                            0) threads.push_back(processor);
    hwloc_bitmap_foreach_end();
    if (!threads.empty()) cores.push_back(std::move(threads));
  }
  return cores;
}

/// One hardware thread for each of `threads`, `each` of a core; or why there are not so many.
Result<std::vector<unsigned>> hardware_threads(const Machine& on, hwloc_const_bitmap_t within,
                                               unsigned each, int threads) {
  std::vector<unsigned> chosen;
  std::size_t largest = 0, enough = 0;
  for (const std::vector<unsigned>& core : cores_of(on, within)) {
    largest = std::max(largest, core.size());
    if (core.size() < each) continue;
    ++enough;
    for (unsigned i = 0; i < each && chosen.size() < static_cast<std::size_t>(threads); ++i)
      chosen.push_back(core[i]);
  }
  if (enough == 0)
    return Unsupported{fmt::format(
        "no core has {} hardware threads that this process may use (at most {}).", each, largest)};
  if (chosen.size() < static_cast<std::size_t>(threads) || threads % static_cast<int>(each) != 0)
    return Unsupported{
        fmt::format("{} threads are not a whole number of cores with {} threads each, "
                    "of which there are {}.",
                    threads, each, enough)};
  return chosen;
}

bool bind_threads(hwloc_topology_t topology, const std::vector<unsigned>& chosen) {
  std::atomic<int> failures = 0;
#pragma omp parallel num_threads(static_cast <int>(chosen.size()))
  {
    const Processors processors = no_processors();
    hwloc_bitmap_only(processors.get(), chosen[static_cast<std::size_t>(omp_get_thread_num())]);
    if (hwloc_set_cpubind(topology, processors.get(), HWLOC_CPUBIND_THREAD) != 0) ++failures;
  }
  return failures == 0;
}

unsigned number_of(const char* flag, const std::string& text, const char* what, unsigned least) {
  const auto number = parse_number<unsigned>(text);
  if (!number || *number < least)
    throw InputError(fmt::format(
        "{} '{}' is not a {} (it is a number, any, or all). Give one of them.", flag, text, what));
  return *number;
}

void release(const Machine& on, int threads) {
  hwloc_set_cpubind(on.topology.get(), on.processors.get(), HWLOC_CPUBIND_PROCESS);
  bind_memory(on.topology.get(), hwloc_topology_get_allowed_nodeset(on.topology.get()),
              HWLOC_MEMBIND_DEFAULT, threads);
}

}  // namespace

std::optional<std::string> why_not_placed(const Placement& placement, int threads) {
  const Machine& here = machine();
  static bool bound = false;
  const hwloc_topology_t topology = here.topology.get();
  if (bound) release(here, threads);
  bound = false;
  if (placement.numa == "any" && placement.smt == "any") return std::nullopt;
  const unsigned number =
      placement.numa == "any" ? 0 : number_of("--numa", placement.numa, "NUMA node", 0);
  const unsigned each = placement.smt == "any"
                            ? 0
                            : number_of("--smt", placement.smt, "number of threads of a core", 1);
  if (topology == nullptr) return "hwloc could not read this machine.";
  const Processors within = no_processors();
  hwloc_bitmap_copy(within.get(), here.processors.get());
  hwloc_obj_t node = nullptr;
  if (placement.numa != "any") {
    node = hwloc_get_numanode_obj_by_os_index(topology, number);
    if (node == nullptr)
      return fmt::format("there is no NUMA node {} that this process may use (it may use {}).",
                         number, fmt::join(numa_nodes(), ", "));
    hwloc_bitmap_and(within.get(), within.get(), node->cpuset);
    const int processors = hwloc_bitmap_weight(within.get());
    if (processors < threads)
      return fmt::format("NUMA node {} has {} hardware threads ({} were asked for).", number,
                         processors, threads);
  }
  std::vector<unsigned> chosen;
  if (each > 0) {
    Result<std::vector<unsigned>> made = hardware_threads(here, within.get(), each, threads);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) return refusal->reason;
    chosen = std::move(std::get<std::vector<unsigned>>(made));
  }
  bound = true;
  const bool done =
      hwloc_set_cpubind(topology, within.get(), HWLOC_CPUBIND_PROCESS) == 0 &&
      (node == nullptr || bind_memory(topology, node->nodeset, HWLOC_MEMBIND_BIND, threads)) &&
      (chosen.empty() || bind_threads(topology, chosen));
  if (done) return std::nullopt;
  const std::string why = std::strerror(errno);
  release(here, threads);
  bound = false;
  return fmt::format("the system does not bind to {}{}{} ({}).",
                     node == nullptr ? "" : fmt::format("NUMA node {}", number),
                     node == nullptr || each == 0 ? "" : ", ",
                     each == 0 ? "" : fmt::format("{} hardware threads of each core", each), why);
}

std::vector<std::string> numa_nodes() {
  std::vector<std::string> all;
  for (hwloc_obj_t node = nullptr;
       machine().topology && (node = hwloc_get_next_obj_by_type(
                                  machine().topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (hwloc_bitmap_intersects(node->cpuset, machine().processors.get()) != 0)
      all.push_back(std::to_string(node->os_index));
  return all;
}

std::vector<std::string> smt_levels() {
  std::size_t most = 1;
  if (machine().topology)
    for (const std::vector<unsigned>& core : cores_of(machine(), machine().processors.get()))
      most = std::max(most, core.size());
  std::vector<std::string> all;
  for (std::size_t each = 1; each <= most; ++each) all.push_back(std::to_string(each));
  return all;
}

std::vector<int> full_teams() {
  const Machine& here = machine();
  std::vector<int> all;
  const auto add = [&](hwloc_const_bitmap_t within) {
    all.push_back(hwloc_bitmap_weight(within));
    all.push_back(static_cast<int>(cores_of(here, within).size()));
  };
  if (!here.topology) return all;
  add(here.processors.get());
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(here.topology.get(), HWLOC_OBJ_NUMANODE, node)) !=
       nullptr;) {
    const Processors within = no_processors();
    hwloc_bitmap_and(within.get(), here.processors.get(), node->cpuset);
    add(within.get());
  }
  return all;
}

}  // namespace assay
