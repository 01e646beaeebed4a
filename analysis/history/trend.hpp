#pragma once
// Whether a short series (weekly runs of a benchmark) has a trend.
//
// Mann-Kendall (Mann 1945, Kendall 1975): only the order of the values counts, so that outliers and
// the shape of the noise change nothing. Autocorrelation would look like a trend: a first-order
// autoregression is estimated on what a Theil-Sen line leaves over and taken out first
// (trend-free pre-whitening, Yue & Wang 2002), 0.35 at least, as for change points. Where there is
// none, that costs power, never a false alarm.

#include <span>

namespace assay {

/// Points of a trend at least.
inline constexpr std::size_t minimum_trend = 8;

struct Trend {
  double p = 1;      ///< two-sided
  double slope = 0;  ///< Theil-Sen: the median of the slopes between all pairs, per point
};

/// Of `values` (logarithms of times), in their order. p is 1 where they are too few.
Trend trend_of(std::span<const double> values);

}  // namespace assay
