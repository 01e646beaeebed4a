#pragma once
// A row that is much faster than the machine can be: whatever was verified, its time is not that of
// the work.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace assay {

/// A row that is this many times as fast as its ceiling allows is `failed`; from 1.03 on it is
/// marked.
inline constexpr double impossible_from = 2;

/// The least time that a ceiling allows for a row's work.
struct LeastTime {
  double seconds = 0;
  std::string bound_by;  ///< "compute", "memory", "L1"
};

/// Whether ceilings of `native` bound the row: not where ASSAY_NATIVE_TARGET has taken instructions
/// from it which other backends still have.
bool bounded_by_native(const nlohmann::json& row);

/// "impossible: …" where a median of `median_s` lies below the least time by the factor above;
/// nothing where it does not, or where there is no least time (0).
std::optional<std::string> why_impossible(double median_s, const LeastTime& least);

/// Operations that the row's algorithm did; nothing where that is unknown (Winograd and FFT do
/// fewer than the problem says).
std::optional<double> operations_done(const nlohmann::json& row);

/// Makes an `ok` row `failed`: no time, no rate, no ceiling, no baseline.
void take_back(nlohmann::json& row, const std::string& reason);

}  // namespace assay
