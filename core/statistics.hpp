#pragma once
// Statistics of one comparison. Everything is robust (order statistics): benchmark times are skewed
// and heavy-tailed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// Linear-interpolation quantile (Hyndman & Fan type 7), 0 <= p <= 1. Needs at least one value.
double quantile(std::span<const double> values, double p);
double median(std::span<const double> values);
/// Median absolute deviation from the median, unscaled.
double mad(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};

/// n / (1 + 2 sum rho_k): samples that independent data would need for the same information.
/// Autocorrelations of the ranks, summed over Geyer's initial positive sequence. Between 1 and n.
double effective_samples(std::span<const double> values);

/// Confidence interval of the median from binomial order statistics, with the effective number of
/// samples. Whole range if there are too few for the confidence.
Interval median_interval(std::span<const double> values, double confidence = 0.95);

/// Independent samples below which no pair of order statistics holds the median with 95 %.
inline constexpr int least_for_interval = 6;

/// Summary of the samples of one row, in seconds.
struct Summary {
  double median = 0, mad = 0, min = 0, p95 = 0, p99 = 0;
  std::optional<Interval> ci95;  ///< nothing with too few effective samples for 95 %
  int n = 0;
  double n_effective = 0;
};
Summary summarize(std::span<const double> samples);

/// A ratio a/b of paired measurements: the median of the paired ratios with its order-statistics
/// interval. (Ratios of medians missed 3 % in A/A trials; paired ratios never 2 %.)
struct Ratio {
  double value = 1;
  Interval ci95;
  int n = 0;
};
Ratio paired_ratio(std::span<const double> a, std::span<const double> b);

/// Ratio new/base of launch medians of two independent groups of process launches: Hodges-Lehmann
/// estimate on logarithms with the exact Mann-Whitney interval (normal approximation above 50 a
/// side); p is two-sided, exact. With too few launches for 95 % (3 and 3) the interval is the whole
/// range of differences; p then exceeds 0.05.
struct LaunchComparison {
  double ratio = 1;
  Interval ci95;
  double p = 1;
  int n_base = 0, n_new = 0;
};
LaunchComparison compare_launches(std::span<const double> base, std::span<const double> updated);

}  // namespace assay
