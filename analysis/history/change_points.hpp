#pragma once
// Where the level of a short series (weekly runs of a benchmark) changed.
//
// Binary segmentation (Scott & Knott 1974, Biometrics 30; Vostrikova 1981) with the segment test of
// circular binary segmentation (Olshen, Venkatraman, Lucito & Wigler 2004, Biostatistics 5): the
// strongest split, else the strongest stretch in the middle (slow for some weeks, then mended), is
// a change where a permutation test says so; both sides are then searched in the same way.
// The permutation test needs no distribution of the noise. Two things would spoil it:
// - Autocorrelation: neighbours alike look like levels. A first-order autoregression is estimated
//   and taken out first, 0.35 at least.
// - Outliers: they would drown the statistic. Values beyond Tukey's far fences (3 interquartile
//   ranges) are set to them; that depends on the values alone, not on their order, and so
//   leaves them exchangeable. Several far outliers still cost power.
// E-divisive (Matteson & James 2014) as Hunter and Otava use it was the model; its users found
// false alarms, filled gaps and biased variances. Here nothing is filled, no variance is estimated
// (all permutations share it), and the false-alarm rate is held for all series together.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// Points in a segment at least: fewer cannot be told from outliers.
inline constexpr std::size_t minimum_segment = 4;

/// Some fifty points tell an autocorrelation to +-0.14: what is estimated too low would be a false
/// alarm. What weekly series usually have (0.3) is taken out in any case, and a little more; where
/// there is none that costs power, never a false alarm.
inline constexpr double least_autocorrelation = 0.35;

/// First-order autocorrelation of values with mean 0; 0 where all are 0.
double lag_one(std::span<const double> values);

struct ChangePoint {
  std::size_t index = 0;  ///< of the first value of the new level
  double p = 1;           ///< of the permutation test that found it
};

/// Change points of `values` (logarithms of times), in their order. `level`: the probability of any
/// where nothing changed. Deterministic in `seed`.
std::vector<ChangePoint> change_points(std::span<const double> values, double level,
                                       std::uint64_t seed);

/// Whether the test could find anything: the clearest possible step in `n` values must be rarer
/// among their permutations than `level`.
bool can_find(std::size_t n, double level);

}  // namespace assay
