#include "runner/launch/preflight.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/host_names.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/launched.hpp"
#include "core/machine/threads.hpp"
#include "runner/launch/site.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* mark = "assay-placement ";

std::string name_place(const PlacedProcess& process) {
  return fmt::format("rank {} on {}", process.rank, process.host);
}

std::string format_request(std::uint64_t count) {
  return fmt::format("{} {} requested", count, by_count(count, "was", "were"));
}

/// The ranks of each host.
std::map<std::string, std::vector<const PlacedProcess*>> by_host(
    const std::vector<PlacedProcess>& processes) {
  std::map<std::string, std::vector<const PlacedProcess*>> hosts;
  for (const PlacedProcess& process : processes) hosts[process.host].push_back(&process);
  return hosts;
}

/// A result must not contain the names of nodes on which it was not measured.
std::string host_fault(const ProcessShape& shape, const std::vector<PlacedProcess>& processes) {
  std::vector<std::string> names = split(shape.hosts, ',');
  for (std::string& name : names) name.resize(std::min(name.find(':'), name.size()));  // "n1:4"
  for (const PlacedProcess& process : processes)
    if (!shape.hosts.empty() &&
        std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return same_host(name, process.host); }))
      return fmt::format("{}, but the requested nodes are {}", name_place(process), shape.hosts);
  return "";
}

std::string number_fault(const ProcessShape& shape, const std::vector<PlacedProcess>& processes) {
  const std::uint64_t ranks = shape.all_ranks();
  if (ranks != 0 && processes.size() != ranks)
    return fmt::format("{} {} started, {}", format_count(processes.size(), "process", "es"),
                       by_count(processes.size(), "was", "were"), format_request(ranks));
  std::set<int> numbers;
  for (const PlacedProcess& process : processes) {
    if (process.size != static_cast<int>(processes.size()))
      return fmt::format(
          "{} found {}, not {}: the environment variables of the launcher are unknown "
          "(processes read them from the \"variables\" of the files in {})",
          name_place(process),
          format_count(static_cast<std::size_t>(process.size), "process", "es"), processes.size(),
          data_folder("scripts/launchers").string());
    if (!numbers.insert(process.rank).second)
      return fmt::format("two processes have the rank {}", process.rank);
  }
  if (std::string fault = host_fault(shape, processes); !fault.empty()) return fault;
  const auto hosts = by_host(processes);
  if (shape.nodes != 0 && hosts.size() != shape.nodes)
    return fmt::format("the processes are on {}, {}", format_count(hosts.size(), "node"),
                       format_request(shape.nodes));
  if (shape.ranks_per_node != 0)
    for (const auto& [host, theirs] : hosts)
      if (theirs.size() != shape.ranks_per_node)
        return fmt::format("{} {} on {}, {}", format_count(theirs.size(), "process", "es"),
                           by_count(theirs.size(), "is", "are"), host,
                           format_request(shape.ranks_per_node));
  return "";
}

std::string binding_fault(const ProcessShape& shape, const PlacedProcess& process) {
  const std::size_t wanted = std::max<std::uint64_t>(1, shape.threads);
  const auto wrong = [&](const char* what, const std::vector<int>& numbers, std::size_t most) {
    if (numbers.empty())
      return fmt::format(
          "the {} that {} may use cannot be read back ({})", what, name_place(process),
          process.binding_fault.empty() ? "hwloc finds none" : process.binding_fault);
    return numbers.size() <= most ? std::string()
                                  : fmt::format("{} may use the {} {}, but should be bound to {}",
                                                name_place(process), what, fmt::join(numbers, ","),
                                                most == 1 ? "one" : std::to_string(most));
  };
  if (shape.bind == "core") return wrong("cores", process.cores, wanted);
  if (shape.bind == "numa") return wrong("NUMA nodes", process.numa_nodes, 1);
  if (shape.bind == "socket") return wrong("sockets", process.sockets, 1);
  return "";
}

std::string core_sharing_fault(const std::vector<PlacedProcess>& processes) {
  for (const auto& [host, theirs] : by_host(processes)) {
    std::map<int, int> owner;
    for (const PlacedProcess* process : theirs)
      for (const int core : process->cores)
        if (const auto [first, fresh] = owner.emplace(core, process->rank); !fresh)
          return fmt::format("ranks {} and {} on {} are both bound to core {}", first->second,
                             process->rank, host, core);
  }
  return "";
}

/// If ranks are bound to a NUMA node or socket, they may share its cores, but must not need more
/// cores than it has.
std::string crowding_fault(const ProcessShape& shape, const std::vector<PlacedProcess>& processes) {
  for (const auto& [host, theirs] : by_host(processes)) {
    std::set<int> cores;
    for (const PlacedProcess* process : theirs)
      cores.insert(process->cores.begin(), process->cores.end());
    const std::size_t threads = std::max<std::uint64_t>(1, shape.threads),
                      wanted = theirs.size() * threads;
    if (cores.size() < wanted)
      return fmt::format(
          "the {} on {} may use {} together ({}), {}", format_count(theirs.size(), "rank"), host,
          format_count(cores.size(), "core"), fmt::join(cores, ","), format_request(wanted));
    // No part may have too many ranks while another one has free cores.
    std::map<std::vector<int>, std::size_t> ranks;
    for (const PlacedProcess* process : theirs) ++ranks[process->cores];
    for (const auto& [part, count] : ranks)
      if (part.size() < count * threads)
        return fmt::format("{} on {} are bound to the same {} ({}), {}",
                           format_count(count, "rank"), host, format_count(part.size(), "core"),
                           fmt::join(part, ","), format_request(count * threads));
  }
  return "";
}

}  // namespace

void visit_fields(SameAs<PlacedProcess> auto& process, auto& fields) {
  fields.always("host", process.host, "rank", process.rank, "size", process.size, "cores",
                process.cores, "numa", process.numa_nodes, "sockets", process.sockets, "fault",
                process.threads_fault, "device_fault", process.device_fault, "binding_fault",
                process.binding_fault);
}

std::string make_line(const PlacedProcess& process) {
  return mark + write_fields(process).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<PlacedProcess> read_placed_processes(const std::string& output) {
  std::vector<PlacedProcess> processes;
  for (const std::string& line : split(output, '\n')) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    try {
      const json fields_of_rank = json::parse(line.substr(at + std::string(mark).size()));
      PlacedProcess process;
      const json fields = write_fields(process);
      // A process that omits a field has not checked for this fault.
      if (!std::all_of(fields.items().begin(), fields.items().end(), [&](const auto& field) {
            return fields_of_rank.contains(field.key()) &&
                   (!fields_of_rank[field.key()].is_null() || field.value().is_null());
          }))
        continue;
      read_fields(fields_of_rank, process);
      processes.push_back(std::move(process));
    } catch (const json::exception&) {  // incomplete: the process then counts as missing
    }
  }
  return processes;
}

PlacedProcess locate_process(int threads, const std::string& device) {
  const LaunchInfo start = read_launch_info();
  const Binding binding = binding_of_process();
  return {host_here(),
          start.rank,
          start.size,
          binding.cores,
          binding.numa_nodes,
          binding.sockets,
          threads > 1 ? why_not_threads(threads).value_or("") : "",
          device.empty() ? "" : device_fault(device),
          binding.fault};
}

std::string find_placement_fault(const ProcessShape& shape,
                                 const std::vector<PlacedProcess>& processes) {
  if (std::string fault = number_fault(shape, processes); !fault.empty()) return fault;
  for (const PlacedProcess& process : processes) {
    if (!process.device_fault.empty())
      return fmt::format("{}: {}", name_place(process), process.device_fault);
    if (!process.threads_fault.empty())
      return fmt::format("{} cannot have {}: {}", name_place(process),
                         format_count(shape.threads, "thread"), process.threads_fault);
    if (shape.threads != 0 && !process.cores.empty() && process.cores.size() < shape.threads)
      return fmt::format("{} may use {} ({}), {}", name_place(process),
                         format_count(process.cores.size(), "core"), fmt::join(process.cores, ","),
                         format_request(shape.threads));
    if (std::string fault = binding_fault(shape, process); !fault.empty()) return fault;
  }
  if (shape.bind == "core") return core_sharing_fault(processes);
  return shape.bind == "numa" || shape.bind == "socket" ? crowding_fault(shape, processes) : "";
}

void preflight(const std::vector<Processes>& groups, const std::string& device,
               const fs::path& assay, const fs::path& scratch) {
  constexpr std::chrono::seconds patience(60);
  for (const Processes& group : groups) {
    if (group.shape.is_number_alone() && device.empty()) continue;
    std::vector<std::string> command = group.words;
    command.insert(command.end(),
                   {assay.string(), "placement", "--threads", std::to_string(group.shape.threads)});
    if (!device.empty()) command.insert(command.end(), {"--device", device});
    const FinishedCommand placement = finish_command(command, scratch, patience);
    const std::string fault =
        placement.failed()
            ? placement.how()
            : find_placement_fault(group.shape, read_placed_processes(placement.output));
    if (!fault.empty())
      throw CaseError(fmt::format("pre-flight failed: {} (`{}`). Nothing was timed.", fault,
                                  join(command, " ")));
  }
}

}  // namespace assay
