#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analytics_fixture.hpp"
#include "core/base/error.hpp"
#include "datasets/synthetic.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/kmeans/kmeans.hpp"
#include "tests/datasets/data_files.hpp"

namespace assay {
namespace test_kmeans {

using fixture::metrics_on_ranks;

TEST(Kmeans, TheSameOnAnyNumberOfRanks) {
  for (const char* start : {"random", "kmeans++"}) {
    const fixture::Flags flags{{"problem", "n607d13"}, {"backend", "reference"},
                               {"start", start},       {"clusters", "5"},
                               {"iterations", "6"},    {"data", "normal"}};
    const auto one = metrics_on_ranks(kmeans_benchmark(), flags, 1);
    EXPECT_EQ(one.at("iterations").value, 6);
    for (const int ranks : {2, 3, 4}) {
      const auto several = metrics_on_ranks(kmeans_benchmark(), flags, ranks);
      EXPECT_NEAR(several.at("inertia").value / one.at("inertia").value, 1, 1e-12) << start;
    }
  }
}

TEST(Kmeans, BackendsAndPrecisions) {
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"})
      for (const char* clusters : {"1", "2", "16", "19"})
        metrics_on_ranks(kmeans_benchmark(),
                         {{"backend", backend},
                          {"precision", precision},
                          {"problem", "n997d33"},
                          {"clusters", clusters}},
                         2);
}

TEST(Kmeans, FindsPlantedClusters) {
  // Distances of d unit deviations: the inertia of right clusters is n d, less k d for the means.
  const auto found = metrics_on_ranks(kmeans_benchmark(),
                                      {{"problem", "n9000d20"},
                                       {"backend", "reference"},
                                       {"clusters", "4"},
                                       {"start", "kmeans++"},
                                       {"iterations", "50"},
                                       {"until_moved", "0"}},
                                      2);
  EXPECT_NEAR(found.at("inertia").value / (9000.0 * 20), 1, 0.02);
  EXPECT_EQ(found.at("moved").value, 0);
  EXPECT_LT(found.at("iterations").value, 50);
  EXPECT_EQ(found.at("empty_clusters").value, 0);
}

/// A table of one feature whose starting rows, as the seed 1234 chooses them, are 0, 10 and 11. The
/// rows of the second centroid lie near the others': after an iteration it is at 5.5, without rows.
std::string rows_that_leave_a_centroid() {
  std::vector<double> others(100, 4.99);
  others.insert(others.end(), 100, 10.51);
  others.insert(others.end(), 10, 5.1);
  std::mt19937_64 random(1234);
  std::map<std::uint64_t, double> starts;  // by row
  for (const double start : {0.0, 10.0, 11.0})
    while (!starts.emplace(random() % 213, start).second) continue;
  std::string text;
  auto other = others.begin();
  for (std::uint64_t row = 0; row < 213; ++row)
    text += fmt::format("{}\n", starts.contains(row) ? starts[row] : *other++);
  return text;
}

TEST(Kmeans, ACentroidWithoutRowsKeepsItsPlace) {
  const Folder folder;
  const std::string file = folder.write("rows.csv", rows_that_leave_a_centroid());
  for (const std::string& backend : fixture::host_backends())
    for (const int ranks : {1, 3})
      for (const char* precision : {"fp64", "fp32"}) {
        const auto found = metrics_on_ranks(
            kmeans_benchmark(),
            {{"data", file}, {"backend", backend}, {"precision", precision}, {"iterations", "4"}},
            ranks);
        EXPECT_EQ(found.at("empty_clusters").value, 1) << backend << ranks << precision;
      }
}

/// 3000 rows of multiples of 1/1024, which the shift leaves as they are.
std::string shifted_rows(double shift) {
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i)
    for (int j = 0; j < 5; ++j)
      text +=
          fmt::format("{:.10f}{}", shift + i % 3 * 3 + static_cast<double>(random() % 2048) / 1024,
                      j < 4 ? "," : "\n");
  return text;
}

TEST(Kmeans, RowsFarFromZeroAreAssignedAsNearZero) {
  const Folder folder;
  const std::string near = folder.write("near.csv", shifted_rows(0)),
                    far = folder.write("far.csv", shifted_rows(0x1p30));
  for (const std::string& backend : fixture::host_backends())
    for (const char* clusters : {"1", "3", "4", "9"}) {
      const auto inertia = [&](const std::string& file) {
        return metrics_on_ranks(kmeans_benchmark(),
                                {{"data", file}, {"backend", backend}, {"clusters", clusters}}, 2)
            .at("inertia")
            .value;
      };
      EXPECT_NEAR(inertia(far) / inertia(near), 1, 1e-6) << backend << clusters;
    }
}

TEST(Kmeans, MoreClustersThanRowsAreRefused) {
  EXPECT_THROW(fixture::one_case(kmeans_benchmark(), {{"problem", "n3d2"}, {"clusters", "4"}}, 1),
               InputError);
  metrics_on_ranks(kmeans_benchmark(),
                   {{"problem", "n4d2"}, {"clusters", "4"}, {"backend", "reference"}}, 2);
}

TEST(Kmeans, SeveralNumbersOfClustersAreTheRunsOfEach) {
  const fixture::Flags flags{
      {"problem", "n607d13"}, {"backend", "native"}, {"data", "coral2"}, {"iterations", "2"}};
  fixture::Flags several = flags;
  several["clusters"] = "2+3+4";
  for (const int ranks : {1, 3}) {
    const auto whole = metrics_on_ranks(kmeans_benchmark(), several, ranks);
    EXPECT_EQ(whole.count("inertia"), 0u);
    for (const char* clusters : {"2", "3", "4"}) {
      fixture::Flags alone = flags;
      alone["clusters"] = clusters;
      const auto one = metrics_on_ranks(kmeans_benchmark(), alone, ranks);
      for (const auto& [name, metric] : one)
        EXPECT_EQ(whole.at(name + "_k" + clusters).value, metric.value) << name << clusters;
    }
  }
}

TEST(Kmeans, WorkOfSeveralNumbersOfClustersIsTheirSum) {
  const auto flops = [](const char* clusters) {
    const Case selected =
        fixture::one_case(kmeans_benchmark(), {{"problem", "n60d5"}, {"clusters", clusters}}, 1);
    const auto problem = kmeans_benchmark().problem(selected);
    return std::pair(problem->flops(), problem->bytes());
  };
  const auto [two, two_bytes] = flops("2");
  const auto [three, three_bytes] = flops("3");
  const auto [both, both_bytes] = flops("2+3");
  EXPECT_EQ(both, two + three);
  EXPECT_EQ(both_bytes, two_bytes + three_bytes);
}

TEST(Kmeans, TellsHowManyIterationsItMade) {
  fixture::Flags flags{{"problem", "n607d13"}, {"clusters", "2+3"}, {"iterations", "100"}};
  for (const int ranks : {1, 3}) {
    flags["until_moved"] = "0";
    for (const fixture::CaseRun& ran : fixture::run_on_ranks(kmeans_benchmark(), flags, ranks)) {
      const double two = ran.metrics.at("iterations_k2").value,
                   three = ran.metrics.at("iterations_k3").value;
      EXPECT_LT(two + three, 200);
      EXPECT_EQ(ran.execution.numbers.at("passes"), two + three);
      EXPECT_EQ(ran.execution.algorithmic_flops, (two * 5 + three * 7) * 607 * 13);
    }
    flags["until_moved"] = "none";  // the problem tells them
    for (const fixture::CaseRun& ran : fixture::run_on_ranks(kmeans_benchmark(), flags, ranks)) {
      EXPECT_EQ(ran.execution.numbers.count("passes"), 0u);
      EXPECT_EQ(ran.execution.algorithmic_flops, 0);
    }
  }
}

TEST(Kmeans, MemoryCountsEveryIterationAndWhatIsVerifiedAtOnce) {
  const auto host = [](const fixture::Flags& flags) {
    const Case selected = fixture::one_case(kmeans_benchmark(), flags, 1);
    const TableSize size = parse_table(selected.settings.at("problem"));
    return dynamic_cast<const AnalyticsBenchmark&>(kmeans_benchmark())
        .memory(typed_settings<AnalyticsSettings>(selected), size.rows, size.features)
        .host;
  };
  EXPECT_GE(host({{"problem", "n1000d250"}, {"clusters", "1000"}, {"iterations", "100000"}}),
            8.0 * 1000 * 100000 * 250);
  EXPECT_LE(host({{"problem", "n8d1048576"}, {"clusters", "2"}}), 1e9);  // 67 MB of rows
  EXPECT_GE(host({{"problem", "n100000d1"}, {"start", "kmeans++"}}), 8e5);
}

TEST(Kmeans, EachNumberOfClustersIsChecked) {
  for (const char* wrong : {"2+", "+3", "2+0", "2+x", "2+4", "2,3+"})
    EXPECT_THROW(
        fixture::one_case(kmeans_benchmark(), {{"problem", "n3d2"}, {"clusters", wrong}}, 1),
        InputError)
        << wrong;
}

}  // namespace test_kmeans
}  // namespace assay
