// The text of a history about a short series, and about a suspect before and after its
// confirmation.
#include <gtest/gtest.h>

#include <map>

#include "analysis/history/history.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace test_suspect_text {

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
            "software");
  ASSERT_TRUE(series.verdict.size.has_value());
  EXPECT_NEAR(*series.verdict.size, 1.25, 1e-3);
  const std::string before = render_history(history, false);
  for (const char* said : {"--confirm BUILD", "software: --confirm decides", "+25.0 %"})
    EXPECT_NE(before.find(said), std::string::npos) << said << " in\n" << before;
  EXPECT_EQ(before.find("confirmed"), std::string::npos) << "nothing is confirmed yet\n" << before;
  EXPECT_NE(before.find("Nothing was promoted."), std::string::npos) << before;
  series.verdict.anchored->promoted = true;
  EXPECT_EQ(render_history(history, false).find("Nothing was promoted."), std::string::npos);
  series.confirmation = {"noise", "why", 1.012, {{1.004, 1.021}}, 0.5, 1.0, 1.012, 1.0};
  const std::string text = render_history(history, false);
  EXPECT_NE(text.find("suspect: noise"), std::string::npos) << text;
  for (const char* said : {"--confirm BUILD", "--confirm decides"})
    EXPECT_EQ(text.find(said), std::string::npos) << said << " in\n" << text;
  EXPECT_NE(text.find("confirmed"), std::string::npos) << text;
  EXPECT_NE(text.find("+1.2 %, 95 % interval +0.4 to +2.1 %"), std::string::npos) << text;
  series.confirmation->answer = "machine slower";
  series.confirmation->base_s = 1.07;
  EXPECT_NE(render_history(history, false).find("machine +7.0 %"), std::string::npos);
}

TEST(SuspectText, NamesTheLevelThatItsPercentageIsOf) {
  RowHistory series = twelve_and(1.25).series[0];
  const auto reason = [&](double value) {
    Anchor promoted;
    promoted.value = value;
    promoted.time = "2026-01-05T00:00:00.000Z";
    return judge_series(series, &promoted, 0.05, 0.05).reason;
  };
  for (Point& point : series.points)
    if (point.value < 1.2) point.value = 1;
  EXPECT_TRUE(reason(1).starts_with(
      "the last run takes 25.0 % longer than the promoted level (tolerance 5 %)"))
      << reason(1);
  // Half of the tolerance at most: 1.25 / (0.9 * 1.025).
  EXPECT_TRUE(reason(0.9).starts_with(
      "the last run takes 35.5 % longer than the promoted level, which the runs since then shift "
      "by +2.5 % (tolerance 5 %)"))
      << reason(0.9);
}

/// A line of the table as a map from title to cell, of Markdown.
std::map<std::string, std::string> cells_of(const std::string& markdown, std::size_t line) {
  const std::vector<std::string> lines = split(markdown, '\n');
  const auto parts = [](const std::string& text) { return split(text, '|'); };
  const auto titles = parts(lines.at(0)), cells = parts(lines.at(2 + line));
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < std::min(titles.size(), cells.size()); ++i)
    found[titles[i]] = cells[i];
  return found;
}

TEST(HistoryText, ComparesTheLastRunWithThePromotedLevel) {
  History history = twelve_and(1.25);
  EXPECT_FALSE(
      cells_of(render_history(judge_history(history, Anchors("/nonexistent"), {}, {}), true), 0)
          .contains(" last over promoted "))
      << "nothing was promoted";
  Anchor promoted;
  promoted.value = 1;
  promoted.time = "2026-01-05T00:00:00.000Z";
  history.series[0].verdict = judge_series(history.series[0], &promoted, 0.05, 0.05);
  ASSERT_TRUE(history.series[0].verdict.last_ratio.has_value());
  EXPECT_DOUBLE_EQ(*history.series[0].verdict.last_ratio, 1.25);
  RowHistory unpromoted = history.series[0];
  unpromoted.verdict = judge_series(unpromoted, nullptr, 0.05, 0.05);
  EXPECT_FALSE(unpromoted.verdict.last_ratio.has_value());
  history.series.push_back(unpromoted);
  const std::string text = render_history(history, true);
  EXPECT_EQ(cells_of(text, 0).at(" last over promoted "), " 0.800 ") << text;
  EXPECT_EQ(cells_of(text, 1).at(" last over promoted "), " - ") << text;
  EXPECT_NE(cells_of(text, 0).at(" over anchored "), " 0.800 ") << "of the latest four\n" << text;
  // The last run has its ratio all the same if there are fewer runs than a baseline needs.
  RowHistory& few = history.series[0];
  few.points.erase(few.points.begin(), few.points.begin() + 11);
  few.verdict = judge_series(few, &promoted, 0.05, 0.05);
  ASSERT_EQ(few.verdict.state, "too short");
  EXPECT_DOUBLE_EQ(few.verdict.last_ratio.value(), 1.25);
}

TEST(HistoryText, KeepsTheMachineThatTellsSeriesApart) {
  History history = twelve_and(1.25);
  history.series[0].id = std::string(60, 'i');
  history.series.push_back(history.series[0]);
  history.series[0].system = std::string(20, 's');
  history.series[1].system = std::string(20, 't');
  history = judge_history(std::move(history), Anchors("/nonexistent"), {}, {});
  const std::string text = render_history(history, false);
  EXPECT_NE(text.find(std::string(20, 's')), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(20, 't')), std::string::npos) << text;
}

TEST(HistoryText, FitsATerminalWithoutTheColumnsThatDecideLeast) {
  History history = twelve_and(1.25);
  history.series[0].id = std::string(60, 'i');
  history.series[0].system = std::string(20, 's');
  history = judge_history(std::move(history), Anchors("/nonexistent"), {}, {});
  const std::string text = render_history(history, false);
  for (const std::string& line : split(text, '\n'))
    EXPECT_LE(count_columns(line), table_width) << line;
  EXPECT_NE(text.find("Not shown"), std::string::npos) << text;
  for (const char* kept : {"last", "change", "state"})
    EXPECT_NE(text.find(kept), std::string::npos);
}

}  // namespace test_suspect_text
}  // namespace assay
