// The text of a history about a short series, and about a suspect before and after its
// confirmation.
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"

namespace assay {
namespace {

History twelve_and(double last) {
  History history;
  RowHistory& series = history.series.emplace_back();
  series.id = series.benchmark = series.hardware = series.system = "x";
  for (int i = 0; i < 13; ++i) {
    Point& point = series.points.emplace_back();
    point.time = i;
    point.when = "2026-01-05T00:00:00.000Z";
    point.run = std::to_string(i);
    point.value = i < 12 ? 1 + 0.001 * (i % 5) : last;
  }
  return history;
}

TEST(HistoryText, TellsFromWhichRunOnAShortSeriesIsJudged) {
  const auto text_of = [](std::size_t runs) {
    History history = twelve_and(1);
    history.series[0].points.resize(runs);
    history = judge_history(history, Anchors("/nonexistent"), {}, {});
    EXPECT_EQ(history.count("too short") == 1, runs < 8) << runs;
    return render_history(history, false);
  };
  const std::string said = "too short: a series is judged from its 8th run on";
  EXPECT_NE(text_of(7).find(said), std::string::npos) << text_of(7);
  EXPECT_EQ(text_of(8).find(said), std::string::npos) << text_of(8);
}

TEST(SuspectText, TellsByHowMuchAndAsksForAConfirmationOnce) {
  History history = judge_history(twelve_and(1.25 * 1.0015), Anchors("/nonexistent"), {}, {});
  RowHistory& series = history.series[0];
  ASSERT_EQ(series.verdict.state, "suspect");
  EXPECT_EQ(series.verdict.reason,
            "the last run takes 25.0 % longer than the earlier runs (tolerance 5 %), at a level "
            "that did not stay in the 12 runs before. The cause may be chance, the machine or the "
            "software: --confirm decides");
  EXPECT_NE(render_history(history, false).find("--confirm BUILD"), std::string::npos);
  series.confirmation = {"noise", "why"};
  const std::string text = render_history(history, false);
  EXPECT_NE(text.find("suspect: noise"), std::string::npos) << text;
  EXPECT_EQ(text.find("--confirm BUILD"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
