#pragma once
// Ceilings of the processor with which a benchmark's program detects impossible rows. `assay run`
// measures more ceilings, and more precisely (runner/ceilings/ceiling.hpp).

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/program/plugins.hpp"
#include "core/result/row.hpp"

namespace assay {

/// Measures the processor's peak rates with ceiling_backend(): once, in at most 60 ms, for each
/// precision and number of threads.
class CeilingProbe {
 public:
  explicit CeilingProbe(Plugins& plugins) : plugins_(plugins) {}
  /// Makes an `ok` row of the processor `failed` if it is impossible (core/result/impossible.hpp).
  /// Does nothing if ceiling_backend() is missing or has no peak for the precision, or if other
  /// processes disturbed all measurements.
  void judge(Row& row);

 private:
  std::optional<double> peak(const Row& row, int threads);
  std::optional<double> rate(bool fma, const std::string& precision, int threads);
  Plugins& plugins_;
  std::map<std::pair<std::string, int>, std::optional<double>> known_;
};

}  // namespace assay
