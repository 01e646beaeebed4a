#pragma once
// Small networks for tests, through the plugins as the programs load them.

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "assay/test_paths.hpp"
#include "models/network/trainer.hpp"
#include "models/resnet50/resnet.hpp"

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
  settings.network = make_resnet({18, 8, 32, 10});
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

/// 2-norm of a − b over that of b.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace assay::network_test
