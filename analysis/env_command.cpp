#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/commands.hpp"
#include "core/machine/environment.hpp"
#include "core/program/plugins.hpp"

namespace assay {

namespace {

int env(const Given&) {
  nlohmann::json environment = capture_environment();
  Plugins plugins;
  for (const std::string& name : plugins.names()) {
    const Result<Backend*> backend = plugins.open(name);
    if (const auto* usable = std::get_if<Backend*>(&backend))
      add_software(environment, name, (*usable)->software());
  }
  std::cout << environment.dump(2) << std::endl;
  return 0;
}

}  // namespace

Command env_command() {
  return {"env", "Print what a result file records of this machine, as JSON.", {}, &env};
}

}  // namespace assay
