#include "runner/ensemble/slots.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "analysis/host_names.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/program/given.hpp"
#include "runner/launch/preflight.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr int most_processors = 1 << 20;

/// The processors that this process may use, grouped by core.
std::vector<std::vector<int>> cores_here() {
  std::map<std::string, std::vector<int>> by_core;
  std::vector<std::string> order;
  for (const int number : environment::list_allowed_processors()) {
    std::string core = readable_text(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", number));
    if (core.empty()) core = std::to_string(number);
    std::vector<int>& processors = by_core[core];
    if (processors.empty()) order.push_back(core);
    processors.push_back(number);
  }
  std::vector<std::vector<int>> cores;
  for (const std::string& core : order) cores.push_back(by_core[core]);
  return cores;
}

void add_slots(const std::string& host, std::size_t cores, int threads,
               const std::vector<std::string>& launcher, std::vector<Slot>& slots) {
  const auto count = static_cast<int>(cores) / threads;
  if (count == 0)
    throw InputError(fmt::format(
        "a process has {} (key threads of the suite, or --threads), but {} has {}. Use fewer.",
        format_count(static_cast<std::size_t>(threads), "thread"), host,
        format_count(cores, "core")));
  for (int number = 0; number < count; ++number) slots.push_back({host, number, launcher});
}

/// The words that start one process on a node, beside other processes of this job. By default a
/// step of srun would wait for the other steps of its node, and get one core.
std::vector<std::string> start_on(const Launcher& launcher, const PlacedProcess& node) {
  std::vector<std::string> words =
      launcher.command({.nodes = 1, .ranks = 1, .bind = "none", .hosts = node.host});
  const auto srun = std::ranges::find_if(
      words, [](const std::string& word) { return fs::path(word).filename() == "srun"; });
  if (srun != words.end())
    words.insert(srun + 1, {"--overlap", fmt::format("--cpus-per-task={}", node.cores.size()),
                            "--threads-per-core=1"});
  return words;
}

void bind_to_gpu(std::size_t number) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> gpus = split(visible == nullptr ? "" : visible, ',');
  if (visible != nullptr && number >= gpus.size())
    throw CaseError(fmt::format("GPU {} does not exist here: CUDA_VISIBLE_DEVICES is \"{}\".",
                                number, visible));
  const std::string chosen = visible == nullptr ? std::to_string(number) : gpus[number];
  setenv("CUDA_VISIBLE_DEVICES", chosen.c_str(), 1);
}

}  // namespace

std::vector<Slot> make_slots(const Arguments& arguments, int threads, const fs::path& log,
                             const std::string& what) {
  std::vector<Slot> slots;
  if (!arguments.contains("launcher")) {
    add_slots(host_here(), cores_here().size(), threads, {}, slots);
    return slots;
  }
  const Launcher launcher = read_launcher(arguments, what);
  constexpr std::chrono::seconds patience(120);
  const std::size_t allocated = launcher.list_allocated_nodes(log / "nodes").size();
  std::vector<std::string> command =
      launcher.one_per_node(read_whole_number(arguments, "nodes", 1, 1'000'000)
                                .value_or(std::max<std::size_t>(1, allocated)));
  command.insert(command.end(), {(executable_folder() / "assay").string(), "placement"});
  const FinishedCommand placement = finish_command(command, log / "placement", patience);
  // Slots are in the order of their names, so equal allocations have equal slots.
  std::map<std::string, PlacedProcess> nodes;
  for (PlacedProcess& node : read_placed_processes(placement.output)) nodes[node.host] = node;
  for (const auto& [host, node] : nodes) {
    if (same_host(host, host_here())) {
      add_slots(host, cores_here().size(), threads, {}, slots);
      continue;
    }
    launcher.expect_choice_of_nodes(what);
    add_slots(host, node.cores.size(), threads, start_on(launcher, node), slots);
  }
  if (slots.empty())
    throw CaseError(fmt::format("pre-flight failed: no node answers (`{}` {}). Nothing was timed.",
                                join(command, " "), placement.how()));
  // If there are few members, they are spread over the nodes.
  std::ranges::stable_sort(slots, {}, &Slot::number);
  return slots;
}

void bind_to_slot(const std::string& slot) {
  const std::vector<std::string> numbers = split(slot, '/');
  const bool gpu = numbers.size() == 3 && numbers[2] == "gpu";
  if (numbers.size() != 2 && !gpu)
    throw InputError(
        fmt::format("--as-member {}: expected SLOT/THREADS, like 0/1, or 0/1/gpu.", slot));
  const std::size_t number = whole_number("--as-member", numbers[0], 0, most_processors),
                    threads = whole_number("--as-member", numbers[1], 1, most_processors);
  if (gpu) bind_to_gpu(number);
  const std::vector<std::vector<int>> cores = cores_here();
  if ((number + 1) * threads > cores.size())
    throw CaseError(fmt::format("slot {} of {} does not exist here: there are {}.", number,
                                format_count(threads, "core"), format_count(cores.size(), "core")));
  std::vector<int> chosen;
  for (std::size_t core = number * threads; core < (number + 1) * threads; ++core)
    chosen.insert(chosen.end(), cores[core].begin(), cores[core].end());
  const auto count = static_cast<std::size_t>(*std::ranges::max_element(chosen)) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
      CPU_ALLOC(count), [](cpu_set_t* processors) { CPU_FREE(processors); });
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set.get());
  for (const int processor : chosen)
    CPU_SET_S(static_cast<std::size_t>(processor), CPU_ALLOC_SIZE(count), set.get());
  if (sched_setaffinity(0, CPU_ALLOC_SIZE(count), set.get()) != 0)
    throw CaseError(
        fmt::format("cannot bind this process to slot {} ({}).", number, std::strerror(errno)));
}

}  // namespace assay
