#pragma once
// Small networks for tests, through the plugins as the programs load them.

#include <filesystem>
#include <memory>
#include <string>

#include "assay/test_paths.hpp"
#include "models/network/trainer.hpp"

namespace assay::network_test {

/// Opened before the threads that play ranks may ask: Plugins are for one thread.
class OpenedPlugins {
 public:
  OpenedPlugins() {
    for (const char* name : {"native", "onednn", "blas", "reference"}) (void)plugins.open(name);
  }
  Plugins plugins{{std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"}};
};

inline Plugins& plugins() {
  static OpenedPlugins opened;
  return opened.plugins;
}

inline TrainerSettings small_settings(const std::string& backend) {
  TrainerSettings settings;
  settings.shape = {18, 8, 32, 10};
  settings.batch = 4;
  settings.executor.backends = {backend};
  if (backend != "reference") {
    for (const char* other : {"native", "onednn", "blas", "reference"})
      if (backend != other) settings.executor.backends.emplace_back(other);
  }
  settings.executor.threads = 2;
  return settings;
}

inline std::unique_ptr<Trainer> made(const TrainerSettings& settings, Communicator& ranks) {
  auto trainer = Trainer::make(settings, plugins(), ranks);
  if (const auto* const refusal = std::get_if<Unsupported>(&trainer))
    throw std::runtime_error(refusal->reason);
  return std::move(std::get<std::unique_ptr<Trainer>>(trainer));
}

}  // namespace assay::network_test
