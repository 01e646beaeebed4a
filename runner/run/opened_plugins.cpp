#include "runner/run/opened_plugins.hpp"

#include <nlohmann/json.hpp>

#include "analysis/plugin_probe.hpp"
#include "core/program/plugins.hpp"

namespace assay {

using nlohmann::json;

std::set<std::string> opened_in(const json& launch) {
  const json::json_pointer libraries("/environment/software/libraries");
  std::set<std::string> names;
  if (launch.contains(libraries) && launch.at(libraries).is_object())
    for (const auto& [name, software] : launch.at(libraries).items()) names.insert(name);
  return names;
}

std::set<std::string> opened_plugins(const std::vector<PlannedBenchmark>& benchmarks,
                                     const std::filesystem::path& programs,
                                     const std::vector<json>& events) {
  std::set<std::string> opened, tried;
  for (const json& event : events)
    if (event.value("event", "") == "launch") opened.merge(opened_in(event));
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

}  // namespace assay
