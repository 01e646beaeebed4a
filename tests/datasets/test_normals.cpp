#include "datasets/normals.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>
#include <vector>

namespace assay {
namespace test_normals {

std::vector<double> rows_of(const Normals& normals, std::int64_t first, std::int64_t count,
                            std::int64_t features) {
  std::vector<double> x(static_cast<std::size_t>(count * features));
  normals.fill(first, count, features, x.data());
  return x;
}

/// The definition in the header, by the standard library.
std::array<double, 2> expected_pair(std::uint64_t seed, Purpose purpose, std::uint64_t row,
                                    std::uint32_t pair) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto words =
      r123::Philox4x32()({{low(row), low(row >> 32), pair, static_cast<std::uint32_t>(purpose)}},
                         {{low(seed), low(seed >> 32)}});
  const std::uint64_t first = words[0] | std::uint64_t{words[1]} << 32,
                      second = words[2] | std::uint64_t{words[3]} << 32;
  const double u = 1 - static_cast<double>(first >> 12) * 0x1p-52;
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = static_cast<double>(second >> 12) * 0x1p-52 * (std::numbers::pi / 4);
  std::array<double, 2> z{radius * std::cos(angle), radius * std::sin(angle)};
  if (second & 1) std::swap(z[0], z[1]);
  if (second & 2) z[0] = -z[0];
  if (second & 4) z[1] = -z[1];
  return z;
}

TEST(Normals, AreThoseOfTheDefinition) {
  const std::uint64_t seed = 0x1234'5678'9ABC'DEF0u;
  const std::int64_t first = (std::int64_t{1} << 40) + 5, rows = 300, features = 34;
  for (const Purpose purpose : {Purpose::values, Purpose::means}) {
    const auto x = rows_of(Normals(seed, purpose), first, rows, features);
    for (std::int64_t i = 0; i < rows * features / 2; ++i) {
      const auto expected =
          expected_pair(seed, purpose, static_cast<std::uint64_t>(first + i / (features / 2)),
                        static_cast<std::uint32_t>(i % (features / 2)));
      for (std::size_t part = 0; part < 2; ++part) {
        const double value = x[static_cast<std::size_t>(2 * i) + part];
        EXPECT_NEAR(value, expected[part], 1e-15 * std::abs(expected[part])) << i;
      }
    }
  }
}

TEST(Normals, HaveTheSameBitsOnEveryInstructionSet) {
  // An FNV-1a sum over the bits, as they were when this was written.
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::DisableTargets(target - 1);
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (const double value : rows_of(Normals(42, Purpose::values), 0, 1000, 25))
      sum = (sum ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3u;
    EXPECT_EQ(sum, 15470751018333764025u) << hwy::TargetName(target);
  }
  hwy::DisableTargets(0);
}

TEST(Normals, DependOnTheirRowAndColumnAlone) {
  const Normals normals(7, Purpose::values);
  const std::int64_t rows = 700;
  const auto wide = rows_of(normals, 0, rows, 17);
  for (const std::int64_t features : {1, 2, 5, 16, 17}) {
    std::int64_t first = 0;
    for (std::int64_t count = 1; first < rows; first += count, count = count * 3 % 101 + 1) {
      count = std::min(count, rows - first);
      const auto part = rows_of(normals, first, count, features);
      for (std::int64_t i = 0; i < count * features; ++i)
        ASSERT_EQ(part[static_cast<std::size_t>(i)],
                  wide[static_cast<std::size_t>((first + i / features) * 17 + i % features)])
            << features << " features, row " << first + i / features;
    }
  }
}

TEST(Normals, WriteWithinTheirMemory) {
  for (std::int64_t features = 1; features <= 40; ++features) {
    std::vector<double> x(static_cast<std::size_t>(3 * features + 1), 99);
    Normals(7, Purpose::values).fill(0, 3, features, x.data());
    EXPECT_EQ(x.back(), 99);
    EXPECT_EQ(std::count(x.begin(), x.end() - 1, 99), 0);
  }
}

TEST(Normals, HaveTheMomentsAndTheDistribution) {
  const std::int64_t rows = 40000, features = 25;
  const auto n = static_cast<double>(rows * features);
  const auto x = rows_of(Normals(3, Purpose::values), 0, rows, features);
  double moments[5] = {};
  std::vector<double> counts(200);
  double beside = 0, below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x[i], power) / n;
    const double part = 0.5 * std::erfc(-x[i] / std::numbers::sqrt2);
    ++counts[static_cast<std::size_t>(std::min(part * 200, 199.0))];
    if (i + 1 < x.size()) beside += x[i] * x[i + 1] / n;
    if (i + 25 < x.size()) below += x[i] * x[i + 25] / n;
  }
  // Variances of the estimates: 1, 2, 15, 96 over n, and 1 over n of the products.
  const double sd = 1 / std::sqrt(n);
  EXPECT_NEAR(moments[1], 0, 5 * sd);
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2) * sd);
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15) * sd);
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96) * sd);
  EXPECT_NEAR(beside, 0, 5 * sd);
  EXPECT_NEAR(below, 0, 5 * sd);
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - n / 200) * (count - n / 200) / (n / 200);
  const double p = boost::math::cdf(boost::math::complement(boost::math::chi_squared(199), chi2));
  EXPECT_GT(p, 1e-6);
  EXPECT_LT(p, 1 - 1e-6);
}

TEST(RandomChoice, IsUniformAndOfItsRow) {
  std::vector<double> counts(7);
  for (std::int64_t row = 0; row < 70000; ++row)
    ++counts[static_cast<std::size_t>(random_choice(5, Purpose::choices, row, 7))];
  for (const double count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 6.0 / 7));
  EXPECT_EQ(random_choice(5, Purpose::choices, 123, 1), 0);
  const auto words = r123::Philox4x32()({{9, 1, 0, 1}}, {{5, 2}});
  EXPECT_EQ(random_choice(0x2'0000'0005, Purpose::choices, 0x1'0000'0009, std::int64_t{1} << 32),
            words[1]);
}

}  // namespace test_normals
}  // namespace assay
