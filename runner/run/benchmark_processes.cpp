#include "runner/run/benchmark_processes.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "core/program/allocator.hpp"
#include "core/program/plugins.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/plugin_probe.hpp"

namespace assay {

using nlohmann::json;

std::set<std::string> list_opened_plugins(const ResultEnvironment& environment) {
  const json libraries = environment.software.value("libraries", json::object());
  std::set<std::string> names;
  for (const auto& [name, software] : libraries.items()) names.insert(name);
  return names;
}

std::set<std::string> find_usable_plugins(const std::vector<PlannedBenchmark>& benchmarks,
                                          const std::filesystem::path& programs,
                                          const RunRecord& earlier) {
  std::set<std::string> opened, tried;
  for (const RunRecord::Process& process : earlier.processes)
    opened.merge(list_opened_plugins(process.environment));
  Plugins plugins = Plugins::of_programs(programs);
  for (const PlannedBenchmark& benchmark : benchmarks) {
    if (!benchmark.launcher.empty()) continue;
    for (const std::string& name : benchmark.plugins)
      if (!opened.contains(name) && tried.insert(name).second &&
          probe_plugin(plugins, name).status.available)
        opened.insert(name);
  }
  return opened;
}

namespace fs = std::filesystem;

namespace {

/// Words before a command that preload a library into it, in addition to libraries that are already
/// preloaded.
std::vector<std::string> preloading(const std::string& library) {
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string others = before == nullptr ? "" : before;
  return {"env", "LD_PRELOAD=" + library + (others.empty() ? "" : ":" + others)};
}

/// The words for the first library of an allocator that the dynamic linker finds, or none. The
/// linker itself is run: if it cannot preload a library, it names it on stderr, and continues.
std::vector<std::string> words_for(const std::string& allocator, const fs::path& scratch) {
  for (const std::string& library : list_allocator_libraries(allocator)) {
    constexpr std::chrono::seconds patience(30);
    std::vector<std::string> command = preloading(library);
    command.emplace_back("true");
    const FinishedCommand trial = finish_command(command, scratch, patience);
    if (!trial.failed() && trial.errors.find(library) == std::string::npos)
      return preloading(library);
  }
  return {};
}

}  // namespace

std::vector<PlannedBenchmark> by_process(PlannedBenchmark benchmark, const fs::path& scratch) {
  std::map<std::vector<std::string>, std::vector<Case>> cases;  // by the values of these dimensions
  for (Case& benchmark_case : benchmark.cases) {
    std::vector<std::string> values;
    for (const std::string& name : benchmark_case.one_per_process)
      values.push_back(setting(benchmark_case, name, ""));
    cases[values].push_back(std::move(benchmark_case));
  }
  benchmark.cases.clear();
  std::vector<PlannedBenchmark> parts;
  for (auto& [values, theirs] : cases) {
    PlannedBenchmark& part = parts.emplace_back(benchmark);
    part.preload = words_for(setting(theirs.front(), "allocator", system_allocator), scratch);
    part.cases = std::move(theirs);
  }
  return parts;
}

}  // namespace assay
