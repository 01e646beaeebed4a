#pragma once
// Detection of rows that are faster than the machine can be. Even if the results of such a row were
// verified, its time cannot be that of the work.

#include <optional>
#include <string>

#include "core/result/row.hpp"

namespace assay {

/// A row that is at least this many times as fast as its ceiling allows becomes `failed`. A row
/// that exceeds its ceiling by less is marked (ceiling_exceeded_above).
inline constexpr double impossible_from = 2;

/// The shortest time that a ceiling allows for a row's work.
struct LeastTime {
  double seconds = 0;
  std::string bound_by;  ///< "compute", "memory", "L1"
};

/// True if the row is bounded by the ceilings that ceiling_backend() measures. If
/// is_ceiling_limited(), true only for rows of that backend.
bool is_bounded(const Row& row);

/// The reason "impossible: …" if the median of `median_s` seconds is below the shortest time by the
/// factor impossible_from or more; nothing if it is not, or if no shortest time is known (0).
std::optional<std::string> why_impossible(double median_s, const LeastTime& least);

/// Floating-point operations that the row's algorithm did; nothing if that is unknown (Winograd and
/// FFT do fewer than a direct sum).
std::optional<double> count_operations_done(const Row& row);

/// Makes an `ok` row `failed` with this reason: removes its time, rates, ceiling and baseline.
void take_back(Row& row, const std::string& reason);

}  // namespace assay
