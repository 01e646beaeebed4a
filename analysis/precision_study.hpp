#pragma once
// The same work in several precisions: in what each row was really computed, and its speedup over
// fp32. Tables and reports share it.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// The precision in which a series ran, by what its rows say was executed: "bf16" where bf16 was
/// asked for and multiplied in, "bf16 storage, fp32 arithmetic" where the tensors alone were bf16,
/// "bf16 storage, arithmetic unknown" where the library does not tell. fp64 and fp32 need no word
/// of the library: their error bounds exclude a coarser arithmetic. tf32 with the errors of fp32
/// (least_error_of_tf32) is "fp32 storage, fp32 arithmetic". What has no result, or is published,
/// has the precision that was asked for.
std::string executed_precision(const Series& series);

/// Norm error below which products were not formed in tf32. Rounding full significands to 11 bits
/// costs a product some 2e-4 to 7e-4, and the norm of a sum of products as much (docs/method.md);
/// fp32 stays below 1e-5 in every algorithm.
inline constexpr double least_error_of_tf32 = 1e-5;

/// A ratio above 1 where the row is better than fp32: the median of the ratios of the launches that
/// have both.
struct OverFp32 {
  double value = 1;
  std::optional<Interval> interval;  ///< 95 %, or the range of few launches; of one launch nothing
  bool is_range = false;             ///< fewer than least_for_interval pairs
  std::size_t pairs = 0;             ///< launches with both rows; 0 of published numbers
};

struct PrecisionRow {
  const Series* series;
  std::string precision;  ///< executed_precision
  /// What the row is set beside: the fastest row of its group that was computed in fp32. That row
  /// has itself here. Null where the group has none.
  const Series* fp32 = nullptr;
  std::optional<OverFp32> speedup{};  ///< time of fp32 over time of the row
  std::optional<OverFp32>
      energy{};        ///< joules of fp32 over joules of the row, where both have them
  std::string note{};  ///< why there is no speedup, or that launches had to be left out
  bool is_reference() const { return series == fp32; }
};

/// The same work (benchmark, problem and all parameters but precision and algorithm) on the same
/// machine in one result, in the order of precisions, wide to narrow.
using PrecisionGroup = std::vector<PrecisionRow>;

/// All groups, in the order in which `all` has their first rows. They point into `all`. A message
/// of a collective is the same work where it has as many elements.
std::vector<PrecisionGroup> precision_groups(const std::vector<Series>& all);

/// The largest norm error of the launches (2-norm of the errors of the checked outputs over that of
/// the fp64 reference); nothing where a launch has none.
std::optional<double> largest_norm_error(const Series& series);

}  // namespace assay
