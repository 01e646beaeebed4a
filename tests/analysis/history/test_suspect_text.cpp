// What the text of a history says of a suspect, before and after its confirmation.
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"

namespace assay {
namespace {

using nlohmann::json;

Histories twelve_and(double last) {
  Histories histories;
  RowHistory& series = histories.series.emplace_back();
  series.id = series.benchmark = series.hardware = series.system = "x";
  series.names = json::array();
  for (int i = 0; i < 13; ++i) {
    Point& point = series.points.emplace_back();
    point.time = i;
    point.when = "2026-01-05T00:00:00.000Z";
    point.run = std::to_string(i);
    point.value = i < 12 ? 1 + 0.001 * (i % 5) : last;
  }
  return histories;
}

TEST(SuspectText, TellsByHowMuchAndAsksForAConfirmationOnce) {
  json made = history_document(twelve_and(1.25 * 1.0015), Anchors("/nonexistent"), {}, {});
  json& series = made["series"][0];
  ASSERT_EQ(series["state"], "suspect");
  EXPECT_EQ(series["reason"],
            "the last run takes 25.0 % longer than the earlier runs (tolerance 5 %), at a level "
            "that none of the 12 runs before had. The cause may be chance, the machine or the "
            "software: --confirm decides");
  EXPECT_NE(render_history(made, false).find("--confirm BUILD"), std::string::npos);
  series["confirmation"] = {{"answer", "noise"}, {"reason", "why"}};
  const std::string text = render_history(made, false);
  EXPECT_NE(text.find("suspect: noise"), std::string::npos) << text;
  EXPECT_EQ(text.find("--confirm BUILD"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
