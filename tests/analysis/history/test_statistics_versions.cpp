// Points that other estimators made are no part of a series.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/history/anchors.hpp"
#include "analysis/history/points.hpp"
#include "analysis/load.hpp"
#include "core/base/error.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_statistics_versions {

NamedResult run(int day, double seconds, int statistics) {
  NamedResult run = test::history_run(day, {test::row("ok", seconds)});
  run.result.run.statistics = statistics;
  return run;
}

TEST(StatisticsVersions, ASeriesHasThoseOfItsLastRunAndTheOthersAreNamed) {
  const History all = collect_history({run(1, 1, 1), run(2, 1, 1), run(3, 2, 2), run(4, 2, 2)},
                                      std::nullopt, std::nullopt);
  ASSERT_EQ(all.series.size(), 1u);
  ASSERT_EQ(all.series[0].points.size(), 2u);
  EXPECT_EQ(all.series[0].points[0].run, "run-3");
  ASSERT_EQ(all.passed_over.size(), 2u);
  EXPECT_EQ(all.passed_over[0].what, "file-1");
  EXPECT_TRUE(test::has(all.passed_over[0].reason, "version 1 of the statistics"))
      << all.passed_over[0].reason;
  EXPECT_TRUE(collect_history({run(1, 1, 2), run(2, 1, 2)}, std::nullopt, std::nullopt)
                  .passed_over.empty());
}

TEST(StatisticsVersions, APromotionOfOtherStatisticsDoesNotCount) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("assay-versions-{}", getpid());
  std::filesystem::create_directories(folder);
  const auto of_versions = [](int first, int second) {
    return collect_history({run(1, 1, first), run(2, 2, second)}, std::nullopt, std::nullopt);
  };
  {
    const Anchors anchors(folder);
    anchors.append(
        anchors.promotions(of_versions(2, 2), {"all", std::nullopt, "owner", "reason", false}));
  }
  const Anchors anchors(folder);
  EXPECT_TRUE(anchors.find(of_versions(1, 2).series.at(0)));
  EXPECT_FALSE(anchors.find(of_versions(2, 1).series.at(0)));
  std::filesystem::remove_all(folder);
}

TEST(StatisticsVersions, ResultsBesideEachOtherHaveOne) {
  EXPECT_NO_THROW(expect_one_statistics({run(1, 1, 2), run(2, 1, 2)}));
  NamedResult published = run(3, 1, 1);
  published.result.rows[0].published = true;
  EXPECT_NO_THROW(expect_one_statistics({published, run(2, 1, 2)}));
  try {
    expect_one_statistics({run(1, 1, 1), run(2, 1, 2)});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_TRUE(test::has(error.what(), "file-2 has version 2")) << error.what();
  }
}

}  // namespace test_statistics_versions
}  // namespace assay
