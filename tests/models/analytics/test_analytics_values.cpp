// Tables whose values are hard for fp64: far from 0, very large or small, in few categories, or
// separable without standard deviations of 1.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analytics_fixture.hpp"
#include "core/base/error.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/kmeans/kmeans.hpp"
#include "models/pca/benchmark.hpp"
#include "models/pca/pca.hpp"
#include "models/svm/benchmark.hpp"
#include "tests/datasets/data_files.hpp"
#include "tests/models/analytics/given_table.hpp"

namespace assay {
namespace test_analytics_values {

using fixture::GivenTable;
using fixture::metrics_on_ranks;

/// Why a case of this file is unsupported.
std::string refusal(const Benchmark& benchmark, const fixture::Flags& flags) {
  return fixture::run_on_ranks(benchmark, flags, 2)[0].unsupported;
}

TEST(AnalyticsValues, ACentroidIsRoundedAsAPartOfItself) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += "0\n";
  const Folder folder;
  const std::string file = folder.write("rows.csv", text + "1\n1\n0.7\n");
  for (const std::string& backend : fixture::host_backends())
    for (const int ranks : {1, 3}) {
      const auto found = metrics_on_ranks(kmeans_benchmark(),
                                          {{"data", file},
                                           {"backend", backend},
                                           {"precision", "fp32"},
                                           {"clusters", "2"},
                                           {"start", "kmeans++"},
                                           {"iterations", "3"}},
                                          ranks);
      EXPECT_NEAR(found.at("inertia").value, 0.06, 1e-7) << backend;
    }
}

/// 300 rows of three clusters, behind a column of `constant` unless it is 0.
std::string clusters_beside(double constant) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    if (constant != 0) text += fmt::format("{},", constant);
    const double x = (i % 3 == 1 ? 100 : 0) + normal(random),
                 y = (i % 3 == 2 ? 100 : 0) + normal(random);
    text += fmt::format("{},{}\n", x, y);
  }
  return text;
}

TEST(AnalyticsValues, AConstantColumnChangesNothing) {
  const Folder folder;
  const std::string alone = folder.write("alone.csv", clusters_beside(0)),
                    beside = folder.write("beside.csv", clusters_beside(1.7e18 + 12345678912));
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"}) {
      const auto inertia = [&](const std::string& file) {
        return metrics_on_ranks(kmeans_benchmark(),
                                {{"data", file},
                                 {"backend", backend},
                                 {"precision", precision},
                                 {"start", "kmeans++"},
                                 {"iterations", "20"}},
                                2)
            .at("inertia")
            .value;
      };
      EXPECT_NEAR(inertia(beside) / inertia(alone), 1, 1e-6) << backend << precision;
      EXPECT_LT(inertia(beside), 700) << backend << precision;
    }
  for (const char* algorithm : {"gram", "tsqr"}) {
    const auto first = [&](const std::string& file) {
      return metrics_on_ranks(pca_benchmark(), {{"data", file}, {"algorithm", algorithm}}, 2)
          .at("first_sd")
          .value;
    };
    EXPECT_NEAR(first(beside) / first(alone), 1, 1e-12) << algorithm;
  }
}

TEST(AnalyticsValues, AnInertiaBelowTheRoundingOfItsRowsIsUndecided) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("{},{},{}\n", 4 * normal(random), 4 * normal(random),
                        i < 300 ? "0" : "1700000000000000000");
  const Folder folder;
  const std::string file = folder.write("rows.csv", text);
  for (const char* clusters : {"2", "4"})
    for (const int ranks : {1, 2}) {
      const Verification found =
          fixture::run_on_ranks(kmeans_benchmark(), {{"data", file}, {"clusters", clusters}},
                                ranks)[0]
              .before;
      EXPECT_TRUE(found.undecided && !found.passed) << clusters << found.reason;
    }
}

TEST(AnalyticsValues, EqualRowsMayStartSeveralClusters) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{},{}\n", i % 2 == 0 ? 0.1 : 5.3, i % 3 == 0 ? 0.7 : 0.2);
  const std::string file = folder.write("rows.csv", text);
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"})
      for (const char* clusters : {"2", "5", "9"})
        for (const char* iterations : {"1", "10"})
          metrics_on_ranks(kmeans_benchmark(),
                           {{"data", file},
                            {"backend", backend},
                            {"precision", precision},
                            {"clusters", clusters},
                            {"iterations", iterations}},
                           2);
}

constexpr double far_head = 0x1p20;
/// Rows of 0 and 1 behind 256 that are far from them.
GivenTable behind_far_head(std::int64_t rows) {
  return {rows, 1, [](std::int64_t row, std::int64_t) {
            return row < 256 ? far_head : static_cast<double>(row % 2);
          }};
}

TEST(AnalyticsValues, ComponentsWithTooWideABoundAreUndecided) {
  for (const std::int64_t rows : {1 << 16, 1 << 20}) {
    const auto n = static_cast<double>(rows);
    const double ones = n / 2 - 128, mean = (256 * far_head + ones) / n;
    Components components(1);
    components.mean = {mean};
    components.directions = {1};
    components.variances = {(256 * far_head * far_head + ones - n * mean * mean) / (n - 1)};
    TableClaims claims;
    claims.rows = rows;
    claims.features = 1;
    const std::unique_ptr<Communicator> alone = make_serial_communicator();
    RankCalls calls(*alone);
    const Verification checked =
        verify_components(components, claims, behind_far_head(rows), {0, rows},
                          compute_resolution(DataType::fp32, false, {}), calls, 1, 7);
    EXPECT_EQ(checked.passed, rows == 1 << 16) << checked.reason;
    EXPECT_EQ(checked.undecided, rows == 1 << 20) << checked.reason;
  }
}

TEST(AnalyticsValues, PrincipalComponentsFarFromZero) {
  const Folder folder;
  const std::string file = folder.write("rows.csv",
                                        "1000000000,0\n1000000000.1,0.2\n1000000000.2,0.4\n"
                                        "1000000000.3,0.1\n1000000000.4,0.3\n");
  for (const char* algorithm : {"gram", "tsqr"})
    for (const int ranks : {1, 2}) {
      const auto found =
          metrics_on_ranks(pca_benchmark(), {{"data", file}, {"algorithm", algorithm}}, ranks);
      EXPECT_NEAR(found.at("first_sd").value, std::sqrt(0.0375), 1e-7);
      EXPECT_NEAR(found.at("last_sd").value, std::sqrt(0.0125), 1e-7);
    }
}

/// Two columns of the same values from `shift` on, in another order.
constexpr double shift = 0x1p40;
GivenTable far_table() {
  return {5, 2, [](std::int64_t row, std::int64_t column) {
            constexpr double all[] = {0, 0, 0.25, 0.5, 0.5, 1, 0.75, 0.25, 1, 0.75};
            return shift + 3 * all[2 * row + column] + static_cast<double>(column);
          }};
}

TEST(AnalyticsValues, AMeanThatIsRoundedIsTakenIntoAccount) {
  const GivenTable table = far_table();
  // Equal variances and a covariance of half of them. The means are shift + 1.5 and shift + 2.5;
  // here they are off by one unit of their last digit.
  Components components(2);
  const double off = 0x1p-12;
  components.mean = {shift + 1.5 + off, shift + 2.5 - off};
  const double variance = 9 * 0.15625, covariance = variance / 2, half = std::sqrt(0.5);
  components.variances = {variance + covariance, variance - covariance};
  components.directions = {half, half, half, -half};
  TableClaims claims;
  claims.rows = 5;
  claims.features = 2;
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  RankCalls calls(*alone);
  for (const bool of_roots : {false, true}) {
    const Verification checked =
        verify_components(components, claims, table, {0, 5},
                          {DataType::fp64, unit_roundoff(DataType::fp64), of_roots}, calls, 1, 7);
    EXPECT_TRUE(checked.passed) << checked.reason;
  }
}

TEST(AnalyticsValues, WhatCannotBeSquaredIsUnsupported) {
  const Folder folder;
  const auto table = [&](const char* scale) {
    std::string text = "a,b,label\n";
    for (int i = 0; i < 40; ++i)
      text += fmt::format("{}{},{}{},{}\n", i, scale, i * i % 7, scale, i % 2);
    return folder.write(fmt::format("rows{}.csv", scale), text);
  };
  const Benchmark *const pca = &pca_benchmark(), *const kmeans = &kmeans_benchmark(),
                         *const svm = &svm_benchmark();
  for (const Benchmark* benchmark : {pca, kmeans}) {
    EXPECT_NE(refusal(*benchmark, {{"data", table("e-160")}}).find("below 1e-100"),
              std::string::npos);
    EXPECT_NE(
        refusal(*benchmark, {{"data", table("e-20")}, {"precision", "fp32"}}).find("below 1e-15"),
        std::string::npos);
  }
  for (const Benchmark* benchmark : {pca, kmeans, svm}) {
    EXPECT_NE(refusal(*benchmark, {{"data", table("e160")}}).find("values are too large"),
              std::string::npos);
    EXPECT_NE(refusal(*benchmark, {{"data", table("e20")}, {"precision", "fp32"}})
                  .find("values are too large"),
              std::string::npos);
  }
  // Beside these the results are those of the values themselves, scaled.
  for (const char* algorithm : {"gram", "tsqr"}) {
    const auto first = [&](const char* scale) {
      return metrics_on_ranks(*pca, {{"data", table(scale)}, {"algorithm", algorithm}}, 2)
          .at("first_sd")
          .value;
    };
    for (const double power : {100.0, -90.0})
      EXPECT_NEAR(first(fmt::format("e{}", power).c_str()) / std::pow(10, power) / first(""), 1,
                  1e-12)
          << algorithm << power;
  }
  const auto inertia = [&](const char* scale) {
    return metrics_on_ranks(*kmeans, {{"data", table(scale)}}, 2).at("inertia").value;
  };
  for (const double power : {100.0, -90.0})
    EXPECT_NEAR(inertia(fmt::format("e{}", power).c_str()) / std::pow(10, 2 * power) / inertia(""),
                1, 1e-12)
        << power;
  metrics_on_ranks(*svm, {{"data", table("e-160")}}, 2);  // small values leave the margin as it is
}

/// `count` rows of 0.1: a sequential sum of them rounds in one direction for long.
GivenTable equal_rows(std::int64_t count) {
  return {count, 1, [](std::int64_t, std::int64_t) { return 0.1; }};
}

TEST(AnalyticsValues, EqualRowsMayBeSummedOneAfterTheOther) {
  const GivenTable table = equal_rows(1000000);
  double sum = 0, inertia = 0;
  for (std::int64_t i = 0; i < table.rows(); ++i) {
    sum += 0.1;
    inertia += (0.1 - 0.3) * (0.1 - 0.3);
  }
  const auto rows = static_cast<double>(table.rows());
  ASSERT_GT(std::abs(sum / rows / 0.1 - 1), 8 * std::sqrt(rows) * unit_roundoff(DataType::fp64));
  Trajectory trajectory;
  trajectory.centroids = {{0.3}, {sum / rows}};
  trajectory.counts = {{rows}};
  trajectory.inertia = {inertia};
  trajectory.iterations = 1;
  trajectory.passes = 1;
  trajectory.moved = std::abs(sum / rows - 0.3) / std::sqrt(inertia / rows);
  KmeansClaims claims;
  claims.rows = table.rows();
  claims.features = 1;
  claims.clusters = {1};
  claims.start = "any";
  claims.iterations = 1;
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  RankCalls calls(*alone);
  const auto verify = [&] {
    return verify_trajectories({&trajectory}, claims, table,
                               {{0, table.rows()}, DataType::fp64, false, 1}, calls, 1);
  };
  EXPECT_TRUE(verify().passed) << verify().reason;
  trajectory.centroids[1][0] += 1e-10;
  EXPECT_FALSE(verify().passed);
}

TEST(AnalyticsValues, ACentroidWithoutCertainRowsStaysAmongThoseItMayHave) {
  const GivenTable table = equal_rows(100);
  KmeansClaims claims;
  claims.rows = 100;
  claims.features = 1;
  claims.clusters = {2};
  claims.start = "any";
  claims.iterations = 1;
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  RankCalls calls(*alone);
  const auto verify = [&](double members, double after) {
    Trajectory trajectory;
    trajectory.centroids = {{0.2, 0.2}, {0.1, after}};
    trajectory.counts = {{100 - members, members}};
    trajectory.inertia = {100 * 0.1 * 0.1};
    trajectory.iterations = 1;
    trajectory.passes = 1;
    trajectory.moved = std::max(0.1, std::abs(after - 0.2)) / 0.1;
    return verify_trajectories({&trajectory}, claims, table, {{0, 100}, DataType::fp64, false, 1},
                               calls, 1);
  };
  EXPECT_TRUE(verify(0, 0.2).passed) << verify(0, 0.2).reason;
  EXPECT_TRUE(verify(50, 0.1).passed) << verify(50, 0.1).reason;
  EXPECT_TRUE(verify(0, 0.1).reason.starts_with("centroids")) << verify(0, 0.1).reason;
  EXPECT_TRUE(verify(50, 1e6).reason.starts_with("centroids")) << verify(50, 1e6).reason;
}

TEST(AnalyticsValues, NewtonSolvesSeparableRowsThatAreNotStandardised) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/tests/models/data/separable.csv";
  constexpr double least = 0.06160314;  // LinearSVC's objective, and the best lower bound
  for (const std::string& backend : fixture::host_backends())
    for (const char* gap : {"0.001", "1e-06"})
      for (const int ranks : {1, 3}) {
        const auto found = metrics_on_ranks(
            svm_benchmark(), {{"data", file}, {"backend", backend}, {"gap", gap}}, ranks);
        EXPECT_LE(found.at("objective").value, least * (1 + std::stod(gap)) + 1e-8) << backend;
        EXPECT_GE(found.at("objective").value, least - 1e-8) << backend;
        EXPECT_LT(found.at("evaluations").value, 300) << backend;
      }
}

TEST(AnalyticsValues, AGapThatIsNotReachedIsUndecided) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/tests/models/data/separable.csv";
  for (const auto& [flag, value, told] : {std::tuple("evaluations", "20", "--evaluations"),
                                          std::tuple("gap", "1e-09", "rounding kept")}) {
    const Verification found =
        fixture::run_on_ranks(svm_benchmark(), {{"data", file}, {flag, value}}, 1)[0].before;
    EXPECT_TRUE(found.undecided && !found.passed) << flag << found.reason;
    EXPECT_NE(found.reason.find(told), std::string::npos) << found.reason;
  }
}

}  // namespace test_analytics_values
}  // namespace assay
