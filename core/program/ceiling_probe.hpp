#pragma once
// The ceilings by which a standalone program judges its rows. `assay run` measures more of them,
// and for longer (analysis/run/ceiling.hpp).

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/program/plugins.hpp"

namespace assay {

/// Measures what the processor can do at most by the backend `native`, a few milliseconds once for
/// each precision and number of threads that a row has.
class CeilingProbe {
 public:
  explicit CeilingProbe(Plugins& plugins) : plugins_(plugins) {}
  /// Makes an `ok` row of the processor `failed` where it is impossible
  /// (core/result/impossible.hpp). Nothing is judged where `native` is missing, has no peak of the
  /// precision, or was disturbed all the time.
  void judge(nlohmann::json& row);

 private:
  std::optional<double> peak(const nlohmann::json& row, int threads);
  std::optional<double> rate(bool fma, const std::string& precision, int threads);
  Plugins& plugins_;
  std::map<std::pair<std::string, int>, std::optional<double>> known_;
};

}  // namespace assay
