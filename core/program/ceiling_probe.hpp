#pragma once
// Ceilings of the processor with which a benchmark's program detects impossible rows. `assay run`
// measures more ceilings, and more precisely (analysis/run/ceiling.hpp).

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/program/plugins.hpp"

namespace assay {

/// Measures the processor's peak rates with the backend `native`: once, in at most 60 ms, for each
/// precision and number of threads.
class CeilingProbe {
 public:
  explicit CeilingProbe(Plugins& plugins) : plugins_(plugins) {}
  /// Makes an `ok` row of the processor `failed` if it is impossible (core/result/impossible.hpp).
  /// Does nothing if `native` is missing or has no peak of the precision, or if other processes
  /// disturbed all of its measurements.
  void judge(nlohmann::json& row);

 private:
  std::optional<double> peak(const nlohmann::json& row, int threads);
  std::optional<double> rate(bool fma, const std::string& precision, int threads);
  Plugins& plugins_;
  std::map<std::pair<std::string, int>, std::optional<double>> known_;
};

}  // namespace assay
