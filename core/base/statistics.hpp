#pragma once
// Statistics of one comparison. Everything is robust (order statistics): benchmark times are skewed
// and heavy-tailed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// The version of summarize()'s estimators, which each result records. A change of an estimator
/// raises it: a reader recomputes numbers of its own version alone, so archives stay readable.
inline constexpr int statistics_version = 1;

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
/// side); p is two-sided, exact.
struct LaunchComparison {
  double ratio = 1;
  std::optional<Interval> interval;  ///< nothing with too few launches for the confidence
  double p = 1;
  int n_base = 0, n_new = 0;
};
LaunchComparison compare_launches(std::span<const double> base, std::span<const double> updated,
                                  double confidence = 0.95);

/// The p of m launches against n that are all faster: no pair of groups has a smaller one.
double least_p(int m, int n);

/// Launch-to-launch variation: the standard deviation of the logarithms of the medians, in which an
/// outlying launch counts fully. Nothing for a single launch.
std::optional<double> launch_variation(std::span<const double> medians);

/// The relative slowdown that `base` against `updated` launches show with p <= alpha as often as
/// `power` says: exp((t_{1 - alpha/2} + t_power) s sqrt((1/m + 1/n) / e)) - 1, with the pooled
/// standard deviation s of the logarithms, m + n - 2 degrees of freedom, and e = 108/125, below
/// which the efficiency of the rank sum against the t test falls for no distribution (Hodges &
/// Lehmann 1956). Nothing where least_p exceeds alpha, or where there is no variation to know.
std::optional<double> minimum_detectable(std::span<const double> base,
                                         std::span<const double> updated, double alpha,
                                         double power);

}  // namespace assay
