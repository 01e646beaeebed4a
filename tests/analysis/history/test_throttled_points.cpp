// Runs of a device that power or heat throttled are no quiet runs of its series.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace {

using nlohmann::json;

NamedResult run(int day, bool throttled) {
  json row = test::row("ok", throttled ? 1.3 : 1);
  if (throttled) row["device_state"] = {{"seconds", 1}, {"throttled_s", {{"power", 0.5}}}};
  json made = test::result({row});
  made["run"]["id"] = fmt::format("run-{}", day);
  made["run"]["started"] = made["run"]["finished"] =
      fmt::format("2026-01-{:02}T08:00:00.000Z", day + 1);
  made["system"]["name"] = "system";
  made["environments"] = {{{"host", "node"},
                           {"hardware", json::object()},
                           {"software", json::object()},
                           {"volatile", json::object()},
                           {"hashes", {{"hardware", "hw"}, {"software", "sw"}}}}};
  return {fmt::format("file-{}", day), made};
}

TEST(ThrottledPoints, AreLeftOutOfTheLevelsAndMarked) {
  std::vector<NamedResult> results;
  for (int day = 0; day < 16; ++day) results.push_back(run(day, day < 4 || day == 15));
  const Histories histories = histories_of(results, std::nullopt, std::nullopt);
  const json document = history_document(histories, Anchors(testing::TempDir()), {}, {});
  EXPECT_EQ(schema_errors(document, "history", "document"), std::vector<std::string>{});
  const json &series = document["series"][0], &points = series["points"];
  EXPECT_EQ(points[14].value("throttled", json()), false);
  EXPECT_EQ(points[15].value("throttled", json()), true);
  EXPECT_EQ(points[15]["shared"], false);
  EXPECT_NEAR(series["anchored"]["value"].get<double>(), 1, 1e-3);
  const std::string text = render_history(document, false);
  EXPECT_NE(text.find("1.30 s\u00b0"), std::string::npos) << text;
  EXPECT_NE(text.find("\u00b0 Throttled"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
