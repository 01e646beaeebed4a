// Runs of a device that power or heat throttled are no quiet runs of its series.
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"
#include "core/result/schema.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_throttled_points {

using nlohmann::json;

NamedResult run(int day, bool throttled) {
  json row = test::row("ok", throttled ? 1.3 : 1);
  if (throttled) row["device_state"] = {{"seconds", 1}, {"throttled_s", {{"power", 0.5}}}};
  return test::history_run(day, {row});
}

TEST(ThrottledPoints, AreLeftOutOfTheLevelsAndMarked) {
  std::vector<NamedResult> results;
  for (int day = 0; day < 16; ++day) results.push_back(run(day, day < 4 || day == 15));
  const History history = judge_history(collect_history(results, std::nullopt, std::nullopt),
                                        Anchors(testing::TempDir()), {}, {});
  const json document = history;
  EXPECT_EQ(find_schema_errors(document, "history", "document"), std::vector<std::string>{});
  const json& points = document["series"][0]["points"];
  EXPECT_EQ(points[14].value("throttled", json()), false);
  EXPECT_EQ(points[15].value("throttled", json()), true);
  EXPECT_EQ(points[15]["shared"], false);
  EXPECT_NEAR(history.series[0].verdict.anchored->value, 1, 1e-3);
  const std::string text = render_history(history, false);
  EXPECT_NE(text.find("1.30 s\u00b0"), std::string::npos) << text;
  EXPECT_NE(text.find("\u00b0 Throttled"), std::string::npos) << text;
}

}  // namespace test_throttled_points
}  // namespace assay
