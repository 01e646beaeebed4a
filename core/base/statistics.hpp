#pragma once
// Statistics of samples and of comparisons. Estimators are robust (order statistics), because
// benchmark times are skewed and heavy-tailed. docs/method.md explains the choices.

#include <optional>
#include <span>

namespace assay {

/// The version of the estimators of summarize(), which each result records; a change of an
/// estimator raises it. A reader recomputes and compares the numbers of results with its own
/// version only, so older results stay readable.
inline constexpr int statistics_version = 1;

/// The quantile of 0 <= p <= 1 with linear interpolation (type 7 of Hyndman & Fan, Sample quantiles
/// in statistical packages, The American Statistician 50, 1996). Needs at least one value.
double quantile(std::span<const double> values, double p);
double median(std::span<const double> values);
/// The median of ratios: the geometric mean of the two middle ones of an even number, so that the
/// reciprocals have the reciprocal median. None may be negative.
double ratio_median(std::span<const double> ratios);
/// Median absolute deviation from the median, unscaled.
double mad(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};

/// The effective sample size n / (1 + 2 sum rho_k): the number of independent samples with the same
/// information as `values`. rho_k are autocorrelations of the ranks of the values, summed over the
/// initial positive sequence (Geyer, Practical Markov chain Monte Carlo, Statistical Science 7,
/// 1992). The result is between 1 and n.
double count_effective_samples(std::span<const double> values);

/// Confidence interval of the median: order statistics by the binomial distribution with the
/// effective sample size. The whole range if the samples are too few for the confidence.
Interval compute_median_interval(std::span<const double> values, double confidence = 0.95);

/// With fewer independent samples no pair of order statistics contains the median with 95 %.
inline constexpr int least_for_interval = 6;

/// Summary of the samples of one row, in seconds.
struct Summary {
  double median = 0, mad = 0, min = 0, p95 = 0, p99 = 0;
  std::optional<Interval> ci95;  ///< of the median; nothing with too few effective samples
  int n = 0;
  double n_effective = 0;
};
Summary summarize(std::span<const double> samples);

/// The ratio a/b of paired measurements: the median of the ratios of the pairs, with its interval
/// (ratio_median, compute_median_interval). In trials of equal programs, ratios of the medians were
/// wrong by up to 3 %, medians of paired ratios always by less than 2 %.
struct Ratio {
  double value = 1;
  Interval ci95;
  int n = 0;
};
Ratio compute_paired_ratio(std::span<const double> a, std::span<const double> b);

/// The ratio new/base of two independent groups of launches, from the medians of the launches: the
/// Hodges-Lehmann estimate of the shift of their logarithms with the exact interval of the
/// Mann-Whitney test (above 50 launches in a group: by the normal approximation).
struct LaunchComparison {
  double ratio = 1;
  std::optional<Interval> interval;  ///< of the ratio; nothing with too few launches
  double p = 1;                      ///< two-sided p-value of the test, exact
  int n_base = 0, n_new = 0;
};
LaunchComparison compare_launches(std::span<const double> base, std::span<const double> updated,
                                  double confidence = 0.95);

/// The smallest possible p-value of groups of m and n launches: that of two groups in which each
/// launch of one is faster than each launch of the other.
double least_p(int m, int n);

/// Launch-to-launch variation: the standard deviation of the logarithms of the launches' medians.
/// It is deliberately not robust, so that an outlier counts fully. Nothing for a single launch.
std::optional<double> launch_variation(std::span<const double> medians);

/// The minimum detectable slowdown: a true relative slowdown of this size gives p <= alpha with
/// probability `power`. With m and n launches it is
///   exp((t_{1 - alpha/2} + t_power) s sqrt((1/m + 1/n) / e)) - 1,
/// where s is the pooled standard deviation of the logarithms, t has m + n - 2 degrees of freedom,
/// and e = 108/125 is the least efficiency of the rank-sum test against the t test for any
/// distribution (Hodges & Lehmann, The efficiency of some nonparametric competitors of the t-test,
/// Annals of Mathematical Statistics 27, 1956). Nothing if least_p() exceeds alpha, or if the
/// variation is unknown.
std::optional<double> minimum_detectable(std::span<const double> base,
                                         std::span<const double> updated, double alpha,
                                         double power);

}  // namespace assay
