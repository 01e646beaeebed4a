// What the text of a history says of a short series, and of a suspect, before and after its
// confirmation.
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

TEST(HistoryText, TellsFromWhichRunOnAShortSeriesIsJudged) {
  const auto text_of = [](std::size_t runs) {
    Histories histories = twelve_and(1);
    histories.series[0].points.resize(runs);
    const json made = history_document(histories, Anchors("/nonexistent"), {}, {});
    EXPECT_EQ(made["series"][0]["state"] == "too short", runs < 8) << runs;
    return render_history(made, false);
  };
  const std::string said = "too short: a series is judged from its 8th run on";
  EXPECT_NE(text_of(7).find(said), std::string::npos) << text_of(7);
  EXPECT_EQ(text_of(8).find(said), std::string::npos) << text_of(8);
}

TEST(SuspectText, TellsByHowMuchAndAsksForAConfirmationOnce) {
  json made = history_document(twelve_and(1.25 * 1.0015), Anchors("/nonexistent"), {}, {});
  json& series = made["series"][0];
  ASSERT_EQ(series["state"], "suspect");
  EXPECT_EQ(series["reason"],
            "the last run takes 25.0 % longer than the earlier runs (tolerance 5 %), at a level "
            "that did not stay in the 12 runs before. The cause may be chance, the machine or the "
            "software: --confirm decides");
  EXPECT_NE(render_history(made, false).find("--confirm BUILD"), std::string::npos);
  series["confirmation"] = {{"answer", "noise"}, {"reason", "why"}};
  const std::string text = render_history(made, false);
  EXPECT_NE(text.find("suspect: noise"), std::string::npos) << text;
  EXPECT_EQ(text.find("--confirm BUILD"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
