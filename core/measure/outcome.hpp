#pragma once
// The outcome of one case.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/operation.hpp"
#include "core/measure/burn.hpp"
#include "core/measure/timing.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Everything about one executed case from which its row is made.
struct Outcome {
  std::string status = "ok";  ///< ok | unsupported | target missed | incorrect | failed
  std::string reason;         ///< empty if ok
  std::optional<Verification> verification;
  std::optional<Execution> execution;
  std::optional<Timing> timing;
  std::map<std::string, double> work;     ///< Workload::work()
  std::map<std::string, double> setup;    ///< Workload::setup()
  std::map<std::string, Metric> metrics;  ///< Workload::metrics()
  std::vector<Epoch> series{};            ///< Workload::series()
  nlohmann::json device_health{};         ///< HealthWatch::summarize()
  std::optional<Burn> burn{};             ///< of TimingOptions::burn
  std::vector<LayerTime> layers{};        ///< Workload::layers()
};

}  // namespace assay
