#include "core/machine/placement.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/unsupported.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/machine/place_processors.hpp"

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
    hwloc_topology_t loaded = nullptr;
    if (hwloc_topology_init(&loaded) != 0) return;
    topology.reset(loaded);
    if (hwloc_topology_load(loaded) != 0 || hwloc_topology_is_thissystem(loaded) == 0) {
      topology.reset();
      return;
    }
    processors = no_processors();
    if (hwloc_get_cpubind(loaded, processors.get(), HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(processors.get(), hwloc_topology_get_allowed_cpuset(loaded));
  }
};

const Machine& machine() {
  static const Machine only;
  return only;
}

/// Each thread has its own memory policy.
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
std::vector<std::vector<unsigned>> list_cores(const Machine& on, hwloc_const_bitmap_t within) {
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

/// One hardware thread for each of `threads` threads, `each` on a core; or why there are too few.
Result<std::vector<unsigned>> hardware_threads(const Machine& on, hwloc_const_bitmap_t within,
                                               unsigned each, int threads) {
  std::vector<unsigned> chosen;
  std::size_t largest = 0, enough = 0;
  for (const std::vector<unsigned>& core : list_cores(on, within)) {
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

unsigned parse_place_number(const char* flag, const std::string& text, const char* what,
                            unsigned least) {
  const auto number = parse_number<unsigned>(text);
  if (!number || *number < least)
    throw InputError(fmt::format(
        "{} '{}' is not a {} (it is a number, any, or all). Give one of them.", flag, text, what));
  return *number;
}

bool bound = false;  // by why_not_placed() or why_not_spread()

void release(const Machine& on, int threads) {
  bound = false;
  hwloc_set_cpubind(on.topology.get(), on.processors.get(), HWLOC_CPUBIND_PROCESS);
  bind_memory(on.topology.get(), hwloc_topology_get_allowed_nodeset(on.topology.get()),
              HWLOC_MEMBIND_DEFAULT, threads);
}

/// The places with processors that this process may use, by name, in the order of their numbers.
std::vector<std::pair<std::string, hwloc_obj_t>> all_places() {
  const Machine& here = machine();
  std::vector<std::pair<std::string, hwloc_obj_t>> all;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_NUMANODE, HWLOC_OBJ_PACKAGE})
    for (hwloc_obj_t each = nullptr;
         here.topology &&
         (each = hwloc_get_next_obj_by_type(here.topology.get(), type, each)) != nullptr;)
      if (hwloc_bitmap_intersects(each->cpuset, here.processors.get()) != 0)
        all.emplace_back(type == HWLOC_OBJ_NUMANODE ? fmt::format("numa{}", each->os_index)
                                                    : fmt::format("socket{}", each->logical_index),
                         each);
  return all;
}

hwloc_obj_t find_object(const std::string& place) {
  for (const auto& [name, object] : all_places())
    if (name == place) return object;
  throw InputError(
      fmt::format("there is no place '{}' that this process may use (it may use {}). "
                  "Use one of them.",
                  place, fmt::join(list_memory_places(), ", ")));
}

/// True if pages of this process cannot lie elsewhere.
bool is_only_place(hwloc_obj_t place) {
  return hwloc_bitmap_isincluded(hwloc_topology_get_allowed_nodeset(machine().topology.get()),
                                 place->nodeset) != 0;
}

/// Bytes of the place's nodes that are available without swapping: free memory and the page cache.
double free_bytes_at(hwloc_obj_t place) {
  double bytes = 0;
  unsigned node = 0;
  hwloc_bitmap_foreach_begin(
      node, place->nodeset) for (const std::string& line :
                                 environment::lines(fmt::format(
                                     "/sys/devices/system/node/node{}/meminfo", node))) {
    for (const char* kind : {" MemFree:", " Active(file):", " Inactive(file):"})
      if (const std::size_t at = line.find(kind); at != line.npos)
        bytes += 1024 * std::strtod(line.c_str() + at + std::strlen(kind), nullptr);
  }
  hwloc_bitmap_foreach_end();
  return bytes;
}

}  // namespace

std::optional<std::string> why_not_placed(const Placement& placement, int threads) {
  const Machine& here = machine();
  const hwloc_topology_t topology = here.topology.get();
  if (bound) release(here, threads);
  if (placement.numa == "any" && placement.smt == "any") return std::nullopt;
  const unsigned number =
      placement.numa == "any" ? 0 : parse_place_number("--numa", placement.numa, "NUMA node", 0);
  const unsigned each =
      placement.smt == "any"
          ? 0
          : parse_place_number("--smt", placement.smt, "number of threads of a core", 1);
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
    Result<std::vector<unsigned>> chosen_threads =
        hardware_threads(here, within.get(), each, threads);
    if (const auto* refusal = std::get_if<Unsupported>(&chosen_threads)) return refusal->reason;
    chosen = std::move(std::get<std::vector<unsigned>>(chosen_threads));
  }
  bound = true;
  const bool done =
      hwloc_set_cpubind(topology, within.get(), HWLOC_CPUBIND_PROCESS) == 0 &&
      (node == nullptr || bind_memory(topology, node->nodeset, HWLOC_MEMBIND_BIND, threads)) &&
      (chosen.empty() || bind_threads(topology, chosen));
  if (done) return std::nullopt;
  const std::string why = std::strerror(errno);
  release(here, threads);
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
    for (const std::vector<unsigned>& core : list_cores(machine(), machine().processors.get()))
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
    all.push_back(static_cast<int>(list_cores(here, within).size()));
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

std::vector<std::string> list_memory_places() {
  std::vector<std::string> names;
  for (const auto& [name, object] : all_places()) names.push_back(name);
  return names;
}

int count_processors(const std::string& place) {
  for (const auto& [name, object] : all_places())
    if (name == place) {
      const Processors within = no_processors();
      hwloc_bitmap_and(within.get(), machine().processors.get(), object->cpuset);
      return hwloc_bitmap_weight(within.get());
    }
  return 0;
}

std::optional<std::string> why_not_spread(const std::vector<std::string>& places) {
  const Machine& here = machine();
  const auto threads = static_cast<int>(places.size());
  if (bound) release(here, threads);
  std::vector<Processors> within;
  for (const std::string& place : places) {
    within.push_back(no_processors());
    hwloc_bitmap_and(within.back().get(), here.processors.get(), find_object(place)->cpuset);
    const int processors = hwloc_bitmap_weight(within.back().get());
    if (const auto wanted = std::count(places.begin(), places.end(), place); processors < wanted)
      return fmt::format("{} has {} hardware threads ({} were asked for).", place, processors,
                         wanted);
  }
  bound = true;
  std::atomic<int> failure = 0;
#pragma omp parallel num_threads(threads)
  if (hwloc_set_cpubind(here.topology.get(),
                        within[static_cast<std::size_t>(omp_get_thread_num())].get(),
                        HWLOC_CPUBIND_THREAD) != 0)
    failure = errno;
  if (failure == 0) return std::nullopt;
  release(here, threads);
  return fmt::format("the system does not bind threads to {} ({}).", fmt::join(places, ", "),
                     std::strerror(failure));
}

std::shared_ptr<void> memory_at(const std::string& place, std::size_t bytes) {
  const hwloc_topology_t topology = machine().topology.get();
  const hwloc_obj_t object = find_object(place);
  const bool only = is_only_place(object);
  if (const double left = free_bytes_at(object); !only && static_cast<double>(bytes) > left)
    throw CaseError(fmt::format("{} has {:.3g} GiB left ({:.3g} GiB are needed). Use less.", place,
                                left / (1 << 30), static_cast<double>(bytes) / (1 << 30)));
  void* const allocated =
      only ? hwloc_alloc(topology, bytes)
           : hwloc_alloc_membind(topology, bytes, object->nodeset, HWLOC_MEMBIND_BIND,
                                 HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT);
  if (allocated == nullptr)
    throw CaseError(
        fmt::format("the system gives no memory of {} ({}).", place, std::strerror(errno)));
  std::memset(allocated, 0, bytes);  // places the pages now: the next call sees what is left
  return {allocated, [topology, bytes](void* memory) { hwloc_free(topology, memory, bytes); }};
}

std::string why_not_at(const std::string& place, const void* data, std::size_t bytes) {
  const hwloc_obj_t object = find_object(place);
  if (is_only_place(object)) return "";
  const Processors nodes = no_processors();
  if (hwloc_get_area_memlocation(machine().topology.get(), data, bytes, nodes.get(),
                                 HWLOC_MEMBIND_BYNODESET) != 0)
    return fmt::format("the system does not tell where memory lies ({})", std::strerror(errno));
  if (hwloc_bitmap_isincluded(nodes.get(), object->nodeset) != 0) return "";
  std::vector<std::string> names;
  unsigned node = 0;
  hwloc_bitmap_foreach_begin(node, nodes.get()) names.push_back(fmt::format("numa{}", node));
  hwloc_bitmap_foreach_end();
  return fmt::format("memory of {} lies in {}", place, fmt::join(names, ", "));
}

}  // namespace assay
