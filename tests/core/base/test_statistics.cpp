#include "core/base/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/api/random.hpp"
#include "core/base/rank_sum.hpp"

namespace assay {
namespace test_statistics {

/// Standard normal values from the project's own generator: the same series on every platform.
class Normal {
 public:
  explicit Normal(std::uint64_t seed)
      : values_(Values::Kind::mantissa, seed, "normal", DataType::fp64, 0) {}
  double operator()() {
    const double u = (values_(next_++) + 1) / 2;
    return boost::math::quantile(boost::math::normal(), std::clamp(u, 1e-12, 1 - 1e-12));
  }

 private:
  Values values_;
  std::int64_t next_ = 0;
};

/// AR(1) with unit variance.
std::vector<double> series(Normal& normal, std::size_t n, double phi) {
  std::vector<double> x(n);
  double state = normal();
  for (double& value : x) {
    value = state;
    state = phi * state + std::sqrt(1 - phi * phi) * normal();
  }
  return x;
}

/// The range that a count of `trials` with probability p leaves once in a thousand.
std::pair<double, double> range(int trials, double p) {
  const boost::math::binomial b(trials, p);
  return {boost::math::quantile(b, 0.0005), boost::math::quantile(b, 0.9995)};
}

TEST(Quantile, InterpolatesAsType7) {
  const std::vector<double> x = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(x, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(x, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25), 1.75);  // R: quantile(1:4, 0.25, type = 7)
  EXPECT_DOUBLE_EQ(quantile(x, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
  EXPECT_DOUBLE_EQ(mad(std::vector<double>{1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(x, 1.1), std::invalid_argument);
}

TEST(MedianInterval, UsesTheBinomialOrderStatistics) {
  // Tables of the sign test (Conover): n = 10: 2nd and 9th; n = 20: 6th and 15th; n = 6: 1st and
  // 6th; n = 5: none, the range.
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{
           {10, 2}, {20, 6}, {6, 1}, {8, 1}, {9, 2}, {15, 4}, {25, 8}, {5, 1}}) {
    std::vector<double> x(static_cast<std::size_t>(n));
    std::iota(x.begin(), x.end(), 1.0);
    std::vector<std::size_t> order(x.size());
    // An order whose autocorrelation is not positive, so that all values count.
    std::vector<double> mixed;
    for (std::size_t i = 0; i < x.size(); ++i)
      mixed.push_back(i % 2 == 0 ? x[i / 2] : x[x.size() - 1 - i / 2]);
    ASSERT_EQ(count_effective_samples(mixed), n);
    const Interval interval = compute_median_interval(mixed);
    EXPECT_EQ(interval.low, k) << n;
    EXPECT_EQ(interval.high, n + 1 - k) << n;
  }
}

TEST(MedianInterval, CoversAtLeastItsConfidenceOnIndependentData) {
  Normal normal(1);
  const int trials = 3000;
  for (const std::size_t n : {10u, 30u, 100u}) {
    int covered = 0;
    double width = 0, ideal = 0;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> x = series(normal, n, 0);
      for (double& value : x) value = std::exp(value);  // skewed, as times are
      const Interval interval = compute_median_interval(x);
      covered += interval.low <= 1 && 1 <= interval.high;
      width += std::log(interval.high / interval.low);
      ideal += 2 * 1.96 * 1.2533 / std::sqrt(static_cast<double>(n));
    }
    EXPECT_GE(covered, range(trials, 0.95).first) << n;
    if (n == 100) {
      EXPECT_LT(width / ideal, 1.25);  // and is not wide for nothing
    }
  }
}

TEST(MedianInterval, CoversOnAutocorrelatedData) {
  Normal normal(2);
  const int trials = 2000;
  for (const double phi : {0.3, 0.6, 0.8}) {
    int covered = 0, naive = 0;
    for (int t = 0; t < trials; ++t) {
      const std::vector<double> x = series(normal, 300, phi);
      const Interval interval = compute_median_interval(x);
      covered += interval.low <= 0 && 0 <= interval.high;
      std::vector<double> sorted = x;
      std::sort(sorted.begin(), sorted.end());
      naive += sorted[132] <= 0 && 0 <= sorted[167];  // as if independent
    }
    EXPECT_GE(covered, range(trials, 0.94).first) << phi;
    EXPECT_LT(naive, range(trials, 0.94).first)
        << "without the correction the test would have no teeth";
  }
}

TEST(EffectiveSamples, MatchTheoryOnAR1) {
  Normal normal(3);
  for (const double phi : {0.0, 0.5, 0.9}) {
    double sum = 0;
    const int trials = 100;
    for (int t = 0; t < trials; ++t) sum += count_effective_samples(series(normal, 2000, phi));
    // Rank autocorrelation of a Gaussian pair is (6/pi) asin(rho/2).
    double tau = 1;
    for (int k = 1; k < 400; ++k) tau += 2 * 6 / M_PI * std::asin(std::pow(phi, k) / 2);
    EXPECT_NEAR(sum / trials / (2000 / tau), 1, 0.12) << phi;
  }
}

TEST(EffectiveSamples, StayBetweenOneAndN) {
  EXPECT_EQ(count_effective_samples(std::vector<double>(50, 1.0)), 50);
  std::vector<double> alternating(50), trend(50);
  for (std::size_t i = 0; i < 50; ++i) {
    alternating[i] = i % 2 == 0 ? 1 : 2;
    trend[i] = static_cast<double>(i);
  }
  EXPECT_EQ(count_effective_samples(alternating), 50);
  EXPECT_LT(count_effective_samples(trend), 5);
  EXPECT_GE(count_effective_samples(trend), 1);
  EXPECT_EQ(count_effective_samples(std::vector<double>{1, 2}), 2);
}

TEST(Summary, HoldsWhatItSays) {
  std::vector<double> x(100);
  for (std::size_t i = 0; i < 100; ++i) x[i] = static_cast<double>((i * 37) % 100 + 1);
  const Summary s = summarize(x);
  EXPECT_EQ(s.n, 100);
  EXPECT_DOUBLE_EQ(s.median, 50.5);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.p95, 95.05);
  EXPECT_DOUBLE_EQ(s.p99, 99.01);
  EXPECT_DOUBLE_EQ(s.mad, 25);
  ASSERT_TRUE(s.ci95);
  EXPECT_LE(s.ci95->low, s.median);
  EXPECT_GE(s.ci95->high, s.median);
  EXPECT_THROW(summarize({}), std::invalid_argument);
}

TEST(Summary, FewEffectiveSamplesHaveNoInterval) {
  EXPECT_FALSE(summarize(std::vector<double>{1}).ci95);
  EXPECT_FALSE(summarize(std::vector<double>{1, 5, 2, 4, 3}).ci95);
  EXPECT_TRUE(summarize(std::vector<double>{1, 6, 2, 5, 3, 4}).ci95);
  std::vector<double> trend(50);  // many samples, little information
  std::iota(trend.begin(), trend.end(), 1.0);
  EXPECT_FALSE(summarize(trend).ci95);
}

TEST(PairedRatio, SeesWhatDriftHides) {
  Normal normal(4);
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) {
    const double machine =
        std::exp(0.2 * normal() + 0.02 * i);  // the machine drifts by a factor of two
    a.push_back(1.03 * machine * std::exp(0.005 * normal()));
    b.push_back(machine * std::exp(0.005 * normal()));
  }
  const Ratio ratio = compute_paired_ratio(a, b);
  EXPECT_EQ(ratio.n, 40);
  EXPECT_NEAR(ratio.value, 1.03, 0.005);
  EXPECT_GT(ratio.ci95.low, 1.02);
  EXPECT_LT(ratio.ci95.high, 1.04);
  const Ratio inverse = compute_paired_ratio(b, a);
  EXPECT_NEAR(inverse.value * ratio.value, 1, 1e-13);
  EXPECT_THROW(compute_paired_ratio(a, std::vector<double>{1}), std::invalid_argument);
  EXPECT_THROW(compute_paired_ratio(std::vector<double>{0}, std::vector<double>{1}),
               std::invalid_argument);
}

/// Swapped sides give the reciprocal, to the rounding of the logarithms.
void expect_reciprocal(double ratio, double swapped) { EXPECT_NEAR(ratio * swapped, 1, 1e-13); }

TEST(Ratios, AreReciprocalWhenTheSidesAreSwapped) {
  Normal normal(21);
  for (std::size_t n = 1; n <= 40; ++n) {
    std::vector<double> a(n), b(n), ratios(n), inverse(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = std::exp(2 * normal() - 10);  // from microseconds to milliseconds
      b[i] = i % 3 == 0 ? a[i] * 2 : std::exp(2 * normal() - 10);  // some ratios are equal
      ratios[i] = a[i] / b[i];
      inverse[i] = b[i] / a[i];
    }
    expect_reciprocal(ratio_median(ratios), ratio_median(inverse));
    const Ratio paired = compute_paired_ratio(a, b), back = compute_paired_ratio(b, a);
    expect_reciprocal(paired.value, back.value);
    expect_reciprocal(paired.ci95.low, back.ci95.high);
    expect_reciprocal(paired.ci95.high, back.ci95.low);
    const LaunchComparison launches = compare_launches(a, b), swapped = compare_launches(b, a);
    expect_reciprocal(launches.ratio, swapped.ratio);
    ASSERT_EQ(launches.interval.has_value(), swapped.interval.has_value());
    EXPECT_NEAR(launches.p, swapped.p, 1e-12);
    if (!launches.interval) continue;
    expect_reciprocal(launches.interval->low, swapped.interval->high);
    expect_reciprocal(launches.interval->high, swapped.interval->low);
  }
}

TEST(Ratios, OfAnEvenNumberHaveTheGeometricMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(ratio_median(std::vector<double>{100, 0.1, 10, 0.01}), 1);
  EXPECT_DOUBLE_EQ(ratio_median(std::vector<double>{8, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(
      compute_paired_ratio(std::vector<double>{1, 10}, std::vector<double>{10, 1}).value, 1);
  EXPECT_EQ(ratio_median(std::vector<double>{0, 1}), 0);
  EXPECT_THROW(ratio_median(std::vector<double>{1, -1}), std::invalid_argument);
}

TEST(RankSum, MatchesTablesOfMannWhitney) {
  const auto p = [](std::vector<double> x, const std::vector<double>& y) {
    std::vector<double> all = x;
    all.insert(all.end(), y.begin(), y.end());
    std::vector<double> ranks;
    for (const double v : all) {
      double less = 0, equal = 0;
      for (const double w : all) less += w < v, equal += w == v;
      ranks.push_back(less + (equal + 1) / 2);
    }
    return compute_rank_sum_p(ranks, x.size());
  };
  EXPECT_NEAR(p({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2.0 / 252, 1e-12);  // 0.0079
  EXPECT_NEAR(p({1, 2, 3}, {4, 5, 6}), 0.1, 1e-12);
  EXPECT_NEAR(p({1}, {2}), 1, 1e-12);
  EXPECT_NEAR(p({1, 2, 3, 4, 6}, {5, 7, 8, 9, 10}), 4.0 / 252, 1e-12);
  // R: wilcox.test(c(0.80,0.83,1.89,1.04,1.45,1.38,1.91,1.64,0.73,1.46),
  // c(1.15,0.88,0.90,0.74,1.21)): W = 35, p = 0.2544
  EXPECT_NEAR(p({0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                {1.15, 0.88, 0.90, 0.74, 1.21}),
              0.2544, 5e-5);
  EXPECT_NEAR(p({1, 1}, {1, 1}), 1, 1e-12);  // all tied: nothing is known
  EXPECT_NEAR(p({1, 1, 1}, {2, 2, 2}), 0.1, 1e-12);
  EXPECT_NEAR(p({1, 2}, {2, 3}), 2.0 / 3, 1e-12);  // ranks 1 2.5 2.5 4: sums 3.5 3.5 5 5 6.5 6.5
}

TEST(RankSum, CriticalValuesMatchTables) {
  // Two-sided 5 % critical U (reject if U <= c), hence k = c + 1.
  EXPECT_EQ(rank_sum_critical(5, 5, 0.05), 2u + 1);
  EXPECT_EQ(rank_sum_critical(4, 4, 0.05), 0u + 1);
  EXPECT_EQ(rank_sum_critical(3, 3, 0.05), 0u);
  EXPECT_EQ(rank_sum_critical(10, 10, 0.05), 23u + 1);
  EXPECT_EQ(rank_sum_critical(12, 12, 0.05), 37u + 1);
  EXPECT_EQ(rank_sum_critical(7, 13, 0.05), 20u + 1);
  EXPECT_EQ(rank_sum_critical(20, 20, 0.05), 127u + 1);
}

TEST(CompareLaunches, FindsTheShiftAndItsInterval) {
  const std::vector<double> base = {1.00, 1.01, 0.99, 1.02, 0.98};
  std::vector<double> updated;
  for (const double v : base) updated.push_back(1.05 * v);
  const LaunchComparison c = compare_launches(base, updated);
  EXPECT_NEAR(c.ratio, 1.05, 1e-12);
  EXPECT_NEAR(c.p, 2.0 / 252, 1e-12);
  EXPECT_GT(c.interval->low, 1.0);
  EXPECT_LT(c.interval->high, 1.10);
  const LaunchComparison back = compare_launches(updated, base);
  EXPECT_NEAR(back.ratio * c.ratio, 1, 1e-12);
  EXPECT_NEAR(back.interval->low * c.interval->high, 1, 1e-12);
  EXPECT_EQ(back.p, c.p);
  EXPECT_THROW(compare_launches(base, {}), std::invalid_argument);
  EXPECT_THROW(compare_launches(base, std::vector<double>{0.0}), std::invalid_argument);
}

TEST(CompareLaunches, HasNoIntervalWhereNoneExists) {
  const std::vector<double> three = {1, 2, 3}, four = {1, 2, 3, 4}, one = {1};
  EXPECT_FALSE(compare_launches(three, three).interval);  // even all apart p is 0.1
  EXPECT_FALSE(compare_launches(one, one).interval);      // a point is no interval
  EXPECT_TRUE(compare_launches(four, four).interval);
  EXPECT_TRUE(compare_launches(three, three, 0.9).interval);
  EXPECT_FALSE(compare_launches(four, four, 0.99).interval);
  const std::vector<double> many = {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  const Interval wide = *compare_launches(many, many, 0.99).interval;
  const Interval narrow = *compare_launches(many, many, 0.8).interval;
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
  EXPECT_THROW(compare_launches(one, one, 1), std::invalid_argument);
}

TEST(CompareLaunches, LeastPIsThatOfGroupsApart) {
  for (int m = 1; m <= 13; ++m)
    for (int n = 1; n <= 13; ++n) {
      std::vector<double> base, updated;
      for (int i = 0; i < m; ++i) base.push_back(1 + i);
      for (int i = 0; i < n; ++i) updated.push_back(100 + i);
      EXPECT_NEAR(compare_launches(base, updated).p, least_p(m, n), 1e-12) << m << " " << n;
    }
  EXPECT_NEAR(least_p(5, 5), 2.0 / 252, 1e-15);
  EXPECT_NEAR(least_p(12, 12), 2.0 / 2704156, 1e-18);
  EXPECT_THROW(least_p(0, 5), std::invalid_argument);
}

TEST(CompareLaunches, TiesAndNoTiesAgreeWithTheDefinition) {
  // All ways to choose the new launches among the 8, counted one by one.
  for (const std::vector<double>& values : {std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8},
                                            {1, 2, 2, 3, 3, 3, 4, 8},
                                            {1, 1, 1, 1, 2, 2, 2, 2}}) {
    std::vector<double> ranks;
    for (const double v : values) {
      double rank = 0.5;
      for (const double w : values) rank += w < v ? 1 : w == v ? 0.5 : 0;
      ranks.push_back(rank);
    }
    for (const unsigned first : {1u, 3u, 4u}) {
      const double mean = 4.5 * first;
      const double found = std::accumulate(ranks.begin(), ranks.begin() + first, 0.0);
      int extreme = 0, all = 0;
      for (unsigned mask = 0; mask < 256; ++mask) {
        if (std::popcount(mask) != static_cast<int>(first)) continue;
        double sum = 0;
        for (unsigned i = 0; i < 8; ++i) sum += (mask >> i & 1) != 0 ? ranks[i] : 0;
        ++all;
        extreme += std::abs(sum - mean) >= std::abs(found - mean) - 1e-9;
      }
      EXPECT_NEAR(compute_rank_sum_p(ranks, first), static_cast<double>(extreme) / all, 1e-12);
    }
  }
}

TEST(LaunchVariation, IsTheDeviationOfLogarithms) {
  EXPECT_FALSE(launch_variation(std::vector<double>{3}));
  EXPECT_NEAR(*launch_variation(std::vector<double>{1, M_E}), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(*launch_variation(std::vector<double>{2, 2, 2}), 0);
  EXPECT_THROW(launch_variation(std::vector<double>{1, 0}), std::invalid_argument);
}

TEST(MinimumDetectable, IsFoundAsOftenAsItSays) {
  Normal normal(7);
  struct Design {
    std::size_t launches;
    double alpha;
  };
  for (const Design& design : {Design{5, 0.1}, Design{12, 0.001}, Design{12, 0.01}}) {
    // The result is a part of the true spread: the mean of the estimates over many samples.
    const int trials = 1500;
    double change = 0;
    const auto draw = [&](double shift) {
      std::vector<double> x;
      for (std::size_t i = 0; i < design.launches; ++i)
        x.push_back(std::exp(shift + 0.01 * normal()));
      return x;
    };
    for (int t = 0; t < 200; ++t)
      change += *minimum_detectable(draw(0), draw(0), design.alpha, 0.8) / 200;
    int found = 0;
    for (int t = 0; t < trials; ++t)
      found += compare_launches(draw(0), draw(std::log1p(change))).p <= design.alpha;
    const double power = static_cast<double>(found) / trials;
    EXPECT_GE(power, 0.77) << design.launches << " " << design.alpha;
    EXPECT_LE(power, 0.92) << design.launches << " " << design.alpha;
  }
}

TEST(MinimumDetectable, IsNothingWhereNothingCouldBeFound) {
  const std::vector<double> five = {1, 1.01, 0.99, 1.02, 0.98}, one = {1};
  EXPECT_TRUE(minimum_detectable(five, five, 2.0 / 252, 0.8));
  EXPECT_FALSE(minimum_detectable(five, five, 0.007, 0.8));
  EXPECT_FALSE(minimum_detectable(one, one, 0.1, 0.8));
  EXPECT_GT(*minimum_detectable(five, five, 0.01, 0.8), *minimum_detectable(five, five, 0.1, 0.8));
}

TEST(CompareLaunches, HasItsSizeAndCoverageWhenNothingChanged) {
  Normal normal(5);
  const int trials = 2000;
  for (const auto& [m, n] : std::vector<std::pair<int, int>>{{5, 5}, {12, 12}, {8, 15}, {60, 55}}) {
    int rejected = 0, covered = 0;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> base, updated;
      for (int i = 0; i < m; ++i) base.push_back(std::exp(0.02 * normal()));
      for (int i = 0; i < n; ++i) updated.push_back(1.07 * std::exp(0.02 * normal()));
      const LaunchComparison moved = compare_launches(base, updated);
      covered += moved.interval->low <= 1.07 && 1.07 <= moved.interval->high;
      for (double& v : updated) v /= 1.07;
      rejected += compare_launches(base, updated).p <= 0.05;
    }
    EXPECT_LE(rejected, range(trials, 0.05).second) << m << " " << n;
    EXPECT_GT(rejected, 0.02 * trials)
        << m << " " << n;  // an exact test of these sizes is not idle
    EXPECT_GE(covered, range(trials, 0.95).first) << m << " " << n;
  }
}

TEST(CompareLaunches, NormalApproximationJoinsTheExactTest) {
  Normal normal(6);
  for (const double shift : {1.0, 1.004, 1.008, 1.02}) {
    std::vector<double> base, updated;
    for (int i = 0; i < 51; ++i)
      base.push_back(std::exp(0.02 * normal()));  // 51: the approximation
    for (int i = 0; i < 51; ++i) updated.push_back(shift * std::exp(0.02 * normal()));
    std::vector<double> differences, ranks;
    for (const double after : updated) {
      for (const double before : base) differences.push_back(std::log(after / before));
    }
    std::sort(differences.begin(), differences.end());
    std::vector<double> all = updated;
    all.insert(all.end(), base.begin(), base.end());
    for (const double v : all)
      ranks.push_back(static_cast<double>(
          std::count_if(all.begin(), all.end(), [v](double w) { return w <= v; })));
    const LaunchComparison approximate = compare_launches(base, updated);
    EXPECT_NEAR(approximate.p, compute_rank_sum_p(ranks, 51), 0.002) << shift;
    const std::size_t k = rank_sum_critical(51, 51, 0.05);
    EXPECT_NEAR(approximate.interval->low, std::exp(differences[k - 1]), 1e-3);
    EXPECT_NEAR(approximate.interval->high, std::exp(differences[differences.size() - k]), 1e-3);
  }
}

}  // namespace test_statistics
}  // namespace assay
