#pragma once
// Whether a short series (weekly runs of a benchmark) has a trend.
//
// Mann-Kendall (Mann 1945, Kendall 1975) uses the order of the values only, so outliers and the
// distribution of the noise do not matter. Autocorrelation would look like a trend: a first-order
// autoregression is estimated from the residuals of a Theil-Sen line and removed first (trend-free
// pre-whitening, Yue & Wang 2002), with a coefficient of at least 0.35, as for change points. Where
// there is no autocorrelation, this reduces the power but causes no false alarms.

#include <span>

namespace assay {

/// The fewest points of a trend.
inline constexpr std::size_t minimum_trend = 8;

struct Trend {
  double p = 1;      ///< two-sided
  double slope = 0;  ///< Theil-Sen: the median of the slopes between all pairs, per point
};

/// The trend of `values` (logarithms of times), in their order. p is 1 where there are too few.
Trend trend_of(std::span<const double> values);

}  // namespace assay
