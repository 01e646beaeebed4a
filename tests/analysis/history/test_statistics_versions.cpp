// Points that other estimators made are no part of a series.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/history/anchors.hpp"
#include "analysis/history/points.hpp"
#include "analysis/one_statistics.hpp"
#include "core/base/error.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace {

using nlohmann::json;

NamedResult run(int day, double seconds, int statistics) {
  json made = test::result({test::row("ok", seconds)});
  made["run"]["id"] = fmt::format("run-{}", day);
  made["run"]["started"] = made["run"]["finished"] = fmt::format("2026-01-{:02}T08:00:00Z", day);
  if (statistics > 1) made["run"]["statistics"] = statistics;
  made["environments"] = {{{"host", "node"},
                           {"hardware", json::object()},
                           {"software", json::object()},
                           {"volatile", json::object()},
                           {"hashes", {{"hardware", "hw"}, {"software", "sw"}}}}};
  return {fmt::format("file-{}", day), made};
}

TEST(StatisticsVersions, ASeriesHasThoseOfItsLastRunAndTheOthersAreNamed) {
  const Histories all = histories_of({run(1, 1, 1), run(2, 1, 1), run(3, 2, 2), run(4, 2, 2)},
                                     std::nullopt, std::nullopt);
  ASSERT_EQ(all.series.size(), 1u);
  ASSERT_EQ(all.series[0].points.size(), 2u);
  EXPECT_EQ(all.series[0].points[0].run, "run-3");
  ASSERT_EQ(all.passed_over.size(), 2u);
  EXPECT_EQ(all.passed_over[0].first, "file-1");
  EXPECT_TRUE(test::has(all.passed_over[0].second, "version 1 of the statistics"))
      << all.passed_over[0].second;
  EXPECT_TRUE(
      histories_of({run(1, 1, 2), run(2, 1, 2)}, std::nullopt, std::nullopt).passed_over.empty());
}

TEST(StatisticsVersions, APromotionOfOtherStatisticsDoesNotCount) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("assay-versions-{}", getpid());
  std::filesystem::create_directories(folder);
  const auto of_versions = [](int first, int second) {
    return histories_of({run(1, 1, first), run(2, 2, second)}, std::nullopt, std::nullopt);
  };
  {
    const Anchors anchors(folder);
    anchors.append(anchors.promotions(of_versions(2, 2),
                                      {"all", std::nullopt, "owner", "reason", false, nullptr}));
  }
  const Anchors anchors(folder);
  EXPECT_TRUE(anchors.of(of_versions(1, 2).series.at(0)));
  EXPECT_FALSE(anchors.of(of_versions(2, 1).series.at(0)));
  std::filesystem::remove_all(folder);
}

TEST(StatisticsVersions, ResultsBesideEachOtherHaveOne) {
  EXPECT_NO_THROW(expect_one_statistics({run(1, 1, 2), run(2, 1, 2)}));
  NamedResult published = run(3, 1, 1);
  published.result["rows"][0]["published"] = true;
  EXPECT_NO_THROW(expect_one_statistics({published, run(2, 1, 2)}));
  try {
    expect_one_statistics({run(1, 1, 1), run(2, 1, 2)});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_TRUE(test::has(error.what(), "file-2 has version 2")) << error.what();
  }
}

}  // namespace
}  // namespace assay
