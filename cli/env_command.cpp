#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/machine/environment.hpp"
#include "core/program/plugins.hpp"
#include "runner/supervision/plugin_probe.hpp"

namespace assay {

namespace {

int env(const Arguments&) {
  nlohmann::json environment = capture_environment();
  Plugins plugins;
  for (const std::string& name : plugins.names()) {
    const PluginProbe probe = probe_plugin(plugins, name);
    if (probe.status.available) add_software(environment, name, probe.software);
  }
  std::cout << environment.dump(2) << std::endl;
  return 0;
}

}  // namespace

Command env_command() {
  return {"env",
          "Print what a result file records of this machine, as JSON.",
          {},
          &env,
          {{"assay env", "prints hardware, software and state of this machine"}}};
}

}  // namespace assay
