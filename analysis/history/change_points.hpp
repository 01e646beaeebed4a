#pragma once
// Finds the points at which the level of a short series (weekly runs of a benchmark) changed, and
// its trend.
//
// Binary segmentation (Scott & Knott 1974, Biometrics 30; Vostrikova 1981) with the segment test of
// circular binary segmentation (Olshen, Venkatraman, Lucito & Wigler 2004, Biostatistics 5): the
// strongest split, else the strongest stretch in the middle (slow for some weeks, then fixed), is a
// change if a permutation test finds it significant. Both sides are then searched in the same way.
// The permutation test assumes no distribution of the noise. Two things would invalidate it:
// - Autocorrelation: similar neighbours look like levels. A first-order autoregression is estimated
//   and removed first, with a coefficient of at least 0.35.
// - Outliers: they would dominate the statistic. Values beyond Tukey's far fences (3 interquartile
//   ranges) are set to the fences. This depends on the values, not on their order, so the values
//   stay exchangeable. Several far outliers still reduce the power.
// The method is derived from E-divisive (Matteson & James 2014), which Hunter and Otava use. Its
// users reported false alarms, filled gaps and biased variances. Here no gap is filled, no variance
// is estimated (all permutations share it), and the false-alarm rate is controlled for all series
// together.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The fewest points of a segment: fewer cannot be distinguished from outliers.
inline constexpr std::size_t minimum_segment = 4;

/// Fifty points determine an autocorrelation to about +-0.14, and an estimate that is too low
/// causes false alarms. A little more than weekly series usually have (0.3) is therefore always
/// removed. Without any autocorrelation fewer changes are found, and no more false alarms occur.
inline constexpr double least_autocorrelation = 0.35;

struct ChangePoint {
  std::size_t index = 0;  ///< of the first value of the new level
  double p = 1;           ///< of the permutation test that found it
};

/// Change points of `values` (logarithms of times), in their order. `level`: the probability of any
/// change point if nothing changed. The result depends only on the values and on `seed`.
std::vector<ChangePoint> find_change_points(std::span<const double> values, double level,
                                            std::uint64_t seed);

/// True if `n` values are enough for the test: the clearest possible step must be rarer among their
/// permutations than `level`.
bool can_find(std::size_t n, double level);

/// The fewest points of a trend.
inline constexpr std::size_t minimum_trend = 8;

struct Trend {
  double p = 1;      ///< two-sided
  double slope = 0;  ///< Theil-Sen: the median of the slopes between all pairs, per point
  double ratio = 1;  ///< exp(slope)
};

/// The trend of `values` (logarithms of times), in their order. p is 1 if there are too few values.
///
/// Mann-Kendall (Mann 1945, Kendall 1975) uses only the order of the values, so outliers and the
/// distribution of the noise do not matter. Autocorrelation would look like a trend: it is
/// estimated from the residuals of a Theil-Sen line and removed first (trend-free pre-whitening,
/// Yue & Wang 2002), with a coefficient of at least 0.35, as for change points.
Trend find_trend(std::span<const double> values);

}  // namespace assay
