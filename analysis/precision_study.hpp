#pragma once
// The same work in several precisions: the precision in which each row was actually computed, and
// its speedup over fp32. Shared by tables and reports.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// The precision in which a series ran, from the "executed" of its rows: "bf16" if products were
/// computed in bf16, "bf16 storage, fp32 arithmetic" if only the tensors were bf16, "bf16 storage,
/// arithmetic unknown" if the library does not report it. fp64 and fp32 need no report, because
/// their error bounds exclude a coarser arithmetic. A tf32 row with errors below
/// least_error_of_tf32 is "fp32 storage, fp32 arithmetic". A series without a result
/// has the requested precision; so does a published series.
std::string find_executed_precision(const Series& series);

/// A ratio to fp32, above 1 if the row is better: the median over the launches that have both rows.
struct RatioToFp32 {
  double value = 1;
  std::optional<Interval> interval;  ///< 95 %, or the range of few launches; empty for one launch
  bool is_range = false;             ///< `interval` is a range: fewer than least_for_interval pairs
  std::size_t pairs = 0;             ///< launches with both rows; 0 for published numbers
};

struct PrecisionRow {
  const Series* series;
  std::string precision;  ///< find_executed_precision
  /// The fp32 row with which it is compared: the fastest row of its group that was computed in fp32
  /// (for that row, itself). Null if the group has none.
  const Series* fp32 = nullptr;
  std::optional<RatioToFp32> speedup{};  ///< time of fp32 over time of the row
  std::optional<RatioToFp32>
      energy{};        ///< joules of fp32 over joules of the row, if both have them
  std::string note{};  ///< the reason for a missing speedup or for launches left out
  bool is_reference() const { return series == fp32; }
};

/// The same work (benchmark, problem and all parameters but precision and algorithm) on the same
/// machine in one result, in the order of precisions, from wide to narrow. A row whose problem has
/// another number of FLOPs than that of the fp32 row has no ratio to it.
using PrecisionGroup = std::vector<PrecisionRow>;

/// All groups, in the order of their first rows in `all`. They point into `all`. Two messages of a
/// collective are the same work if they have the same number of elements.
std::vector<PrecisionGroup> group_by_precision(const SeriesList& all);

/// The largest norm error of the launches (2-norm of the errors of the checked outputs over that of
/// the fp64 reference); nothing if a launch has none.
std::optional<double> largest_norm_error(const Series& series);

}  // namespace assay
