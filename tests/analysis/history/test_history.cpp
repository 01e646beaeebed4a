#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "analysis/history/history.hpp"
#include "core/base/error.hpp"
#include "core/result/schema.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_history {

namespace fs = std::filesystem;
using nlohmann::json;

using test::history_day, test::noisy, test::times;

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() { fs::create_directories(folder_); }
  ~HistoryTest() override { fs::remove_all(folder_); }

  History judged(const std::vector<NamedResult>& results, std::optional<double> tolerance = {}) {
    const History history =
        judge_history(collect_history(results, std::nullopt, std::nullopt), Anchors(folder_),
                      read_events(folder_ / "events.json"), tolerance);
    EXPECT_EQ(find_schema_errors(history, "history", "document"), std::vector<std::string>{});
    return history;
  }
  SeriesVerdict verdict(const std::vector<NamedResult>& results,
                        std::optional<double> tolerance = {}) {
    return judged(results, tolerance).series.at(0).verdict;
  }
  ExitCode code(const std::vector<NamedResult>& results) { return judged(results).code; }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("assay-history-{}", getpid());
};

TEST_F(HistoryTest, ARowThatVanishesFromItsSuiteIsMissing) {
  const auto whole = [](int number, bool both, const std::string& hash,
                        const std::vector<std::string>& cases) {
    std::vector<json> rows{test::row("ok", 1, 0, {{"threads", "2"}})};
    if (both) rows.push_back(test::row("ok", 2, 0, {{"threads", "4"}}));
    NamedResult result = test::history_run(number, rows);
    result.result.run.suite = "s";
    RunSettings& settings = result.result.run.settings.emplace();
    settings.suite_hash = hash;
    settings.cases = cases;
    return result;
  };
  const std::vector<std::string> none;
  std::vector<NamedResult> results;
  for (int i = 0; i < 12; ++i) results.push_back(whole(i, true, "h", none));
  EXPECT_EQ(code(results), ExitCode::ok);
  results.push_back(whole(12, false, "h", {"conv/some"}));  // a part of the suite says nothing
  results.push_back(whole(13, false, "another", none));     // nor does another suite of its name
  EXPECT_EQ(code(results), ExitCode::ok);
  results.push_back(whole(14, false, "h", none));
  const History history = judged(results);
  EXPECT_EQ(history.code, ExitCode::incomparable);
  int gaps = 0;
  for (const RowHistory& series : history.series)
    for (const Gap& gap : series.gaps) {
      ++gaps;
      EXPECT_EQ(gap.status, "missing");
      EXPECT_EQ(gap.run, "run-14");
      EXPECT_NE(series.id.find("4"), std::string::npos);
    }
  EXPECT_EQ(gaps, 1);
  results.push_back(whole(15, true, "h", none));
  EXPECT_EQ(code(results), ExitCode::ok) << "it is there again";
}

std::string refused(const std::vector<NamedResult>& results, double now = seconds_now()) {
  try {
    collect_history(results, std::nullopt, std::nullopt, now);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST_F(HistoryTest, APointIsARunAndTheMedianOfItsLaunches) {
  const History history = judged(
      {test::history_run(1, {test::row("ok", 3, 0), test::row("ok", 1, 1), test::row("ok", 2, 2)}),
       test::history_run(0, {test::row("ok", 5)})});
  ASSERT_EQ(history.series.size(), 1U);
  const std::vector<Point>& points = history.series[0].points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].value, 5.0);  // by time, not in the order of the files
  EXPECT_FALSE(points[0].low);
  EXPECT_EQ(points[1].value, 2.0);
  EXPECT_EQ(points[1].low, 1.0);
  EXPECT_EQ(points[1].high, 3.0);
  EXPECT_EQ(points[1].launches, 3U);
  EXPECT_EQ(history.series[0].verdict.state, "too short");
  EXPECT_EQ(history.series[0].verdict.reason, "2 of 8 runs");
  EXPECT_EQ(history.code, ExitCode::ok) << "a series that is being built fails nothing";
}

TEST_F(HistoryTest, TwoMachinesNeverShareASeries) {
  const History history = judged({test::history_run(0, {test::row("ok", 1)}, "old"),
                                  test::history_run(1, {test::row("ok", 2)}, "new"),
                                  test::history_run(2, {test::row("ok", 1)}, "old", "3.1")});
  ASSERT_EQ(history.series.size(), 2U);
  EXPECT_EQ(history.series[0].hardware, "new");
  EXPECT_EQ(history.series[0].points.size(), 1U);
  EXPECT_EQ(history.series[1].points.size(), 2U);
  // Another software is a mark, and says what changed.
  ASSERT_EQ(history.series[1].events.size(), 1U);
  EXPECT_EQ(history.series[1].events[0].text, "/libraries/onednn: 3.0 → 3.1");
}

TEST_F(HistoryTest, NothingIsFilledIn) {
  std::vector<NamedResult> results = times(std::vector<double>(10, 1.0));
  results[4] = test::history_run(4, {test::row("incorrect", 0.5)});
  const History history = judged(results);
  EXPECT_EQ(history.series[0].points.size(), 9U);
  ASSERT_EQ(history.series[0].gaps.size(), 1U);
  EXPECT_EQ(history.series[0].gaps[0].status, "incorrect");
  EXPECT_EQ(history.code, ExitCode::ok);
  // A last run without a number is not hidden by those before it.
  results.emplace_back();
  for (const auto& [status, expected] : {std::pair{"incorrect", ExitCode::incorrect},
                                         {"failed", ExitCode::failed},
                                         {"target missed", ExitCode::target_missed},
                                         {"unsupported", ExitCode::incomparable}}) {
    results.back() = test::history_run(10, {test::row(status, 0.5)});
    EXPECT_EQ(code(results), expected) << status;
  }
  EXPECT_EQ(verdict(results).state, "lost");
}

TEST_F(HistoryTest, WhatHasNoPlaceIsTold) {
  NamedResult undated = test::history_run(0, {test::row("ok", 1)}),
              unknown = test::history_run(1, {test::row("ok", 1)});
  undated.result.run.started.reset();
  unknown.result.environments[0].hashes.hardware = "";
  const History history = judged({undated, unknown});
  EXPECT_EQ(history.passed_over.size(), 2U);
  EXPECT_EQ(history.code, ExitCode::incomparable);
}

TEST_F(HistoryTest, BadInputIsNamedAndRefused) {
  NamedResult again = test::history_run(1, {test::row("ok", 1)});
  again.result.run.id = "run-0";
  EXPECT_NE(refused({test::history_run(0, {test::row("ok", 1)}), again})
                .find("file-0 and file-1 are both results of run run-0"),
            std::string::npos);
  NamedResult same = test::history_run(1, {test::row("ok", 1)});
  same.result.run.started = same.result.run.finished = history_day(0);
  EXPECT_NE(
      refused({test::history_run(0, {test::row("ok", 1)}), same}).find("a clock went backwards"),
      std::string::npos);
  NamedResult backwards = test::history_run(3, {test::row("ok", 1)});
  backwards.result.run.finished = history_day(2);
  EXPECT_NE(refused({backwards}).find("file-3 at /run/finished"), std::string::npos);
  // A run of tomorrow, and one that a clock some minutes ahead has dated.
  const double now = parse_time(history_day(3), "now");
  const std::vector<NamedResult> tomorrow{test::history_run(4, {test::row("ok", 1)})};
  EXPECT_NE(refused(tomorrow, now).find("file-4 at /run/started"), std::string::npos);
  EXPECT_EQ(refused(tomorrow, now + 86400 - 600), "not refused");
  NamedResult local = test::history_run(3, {test::row("ok", 1)});
  local.result.run.started = "2026-01-01T08:00:00+01:00";
  EXPECT_NE(refused({local}).find("file-3 at /run/started"), std::string::npos);
  NamedResult other = test::history_run(1, {test::row("ok", 1)});
  other.result.rows[0].problem.descriptor = "mb2";
  EXPECT_NE(refused({test::history_run(0, {test::row("ok", 1)}), other})
                .find("two problems cannot be compared"),
            std::string::npos);
}

TEST_F(HistoryTest, AStepIsSlowerThanBothBaselines) {
  const History history =
      judged(times(noisy(40, 1, [](std::size_t i) { return i < 36 ? 1 : 1.1; })));
  const SeriesVerdict& series = history.series[0].verdict;
  EXPECT_EQ(series.state, "slower");
  EXPECT_EQ(series.rolling->state, "slower");
  EXPECT_EQ(series.anchored->state, "slower");
  EXPECT_EQ(series.anchored->promoted, false);
  ASSERT_EQ(series.changes.size(), 1U);
  EXPECT_EQ(series.changes[0].index, 36U);
  EXPECT_NEAR(series.changes[0].ratio, 1.1, 0.02);
  EXPECT_EQ(history.code, ExitCode::slower);
}

TEST_F(HistoryTest, AnImprovementNeverFails) {
  const History history =
      judged(times(noisy(40, 2, [](std::size_t i) { return i < 30 ? 1 : 0.8; })));
  EXPECT_EQ(history.series[0].verdict.state, "faster");
  EXPECT_EQ(history.code, ExitCode::ok);
}

TEST_F(HistoryTest, DriftIsSeenByTheAnchorAlone) {
  const History history = judged(
      times(noisy(50, 3, [](std::size_t i) { return std::pow(1.002, static_cast<double>(i)); })));
  const SeriesVerdict& series = history.series[0].verdict;
  EXPECT_EQ(series.rolling->state, "steady");
  EXPECT_EQ(series.anchored->state, "slower");
  EXPECT_EQ(series.state, "drifting");
  EXPECT_EQ(history.code, ExitCode::slower);
}

TEST_F(HistoryTest, OneOutlierIsNoAlarm) {
  // In its own run nobody can tell it from a step: it is a question, which fails nothing.
  std::vector<double> values = noisy(30, 4, [](std::size_t i) { return i < 29 ? 1 : 1.5; });
  History history = judged(times(values));
  EXPECT_EQ(history.series[0].verdict.state, "suspect");
  EXPECT_EQ(history.code, ExitCode::ok);
  values.push_back(1);
  history = judged(times(values));
  EXPECT_EQ(history.series[0].verdict.state, "steady");
  EXPECT_EQ(history.code, ExitCode::ok);
}

TEST_F(HistoryTest, AStepIsSuspectInTheRunInWhichItHappens) {
  for (const std::size_t before : {8, 9, 20, 40}) {
    const auto step = [&](std::size_t i) { return i < before ? 1 : 1.1; };
    std::vector<double> values = noisy(before, 7, step);
    EXPECT_EQ(verdict(times(values)).state, "steady") << before;
    for (int later = 0; later < 3; ++later) {  // and stays so until it is significant
      values.push_back(1.1 + 0.002 * later);
      const History history = judged(times(values));
      EXPECT_EQ(history.series[0].verdict.state, "suspect") << before << " " << later;
      EXPECT_EQ(history.code, ExitCode::ok);
      EXPECT_EQ(history.count("suspect"), 1U);
    }
  }
  // Earlier outliers hide nothing, be they slower or as slow (test_suspect.cpp has the levels).
  std::vector<double> values = noisy(20, 8, [](std::size_t i) { return i == 12 ? 1.5 : 1; });
  values.push_back(1.1);
  EXPECT_EQ(verdict(times(values)).state, "suspect");
  values[12] = 1.11;
  EXPECT_EQ(verdict(times(values)).state, "suspect");
}

TEST_F(HistoryTest, APromotedLevelIsNoSuspectAndTheNextStepIs) {
  std::vector<double> values = noisy(20, 9, [](std::size_t i) { return i < 16 ? 1 : 1.1; });
  EXPECT_NE(verdict(times(values)).state, "steady");
  const History history = collect_history(times(values), std::nullopt, std::nullopt);
  Anchors(folder_).append(
      Anchors(folder_).promotions(history, {"all", {}, "me", "new", false, {}}));
  EXPECT_EQ(verdict(times(values)).state, "steady");
  values.push_back(1.1);
  EXPECT_EQ(verdict(times(values)).state, "steady");
  values.push_back(1.21);
  EXPECT_EQ(verdict(times(values)).state, "suspect");
}

TEST_F(HistoryTest, FastOutliersAmongTheFirstAreNoAnchor) {
  int accused = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    // The median of the first four would be 15 % below the level.
    std::vector<double> values = noisy(
        30, seed, [&](std::size_t i) { return i == seed % 4 || i == (seed + 1) % 4 ? 0.7 : 1; });
    const History history = judged(times(values));
    EXPECT_NEAR(history.series[0].verdict.anchored->value, 1, 0.02);
    accused += history.code != ExitCode::ok;
  }
  EXPECT_EQ(accused, 0);
}

TEST_F(HistoryTest, ASeriesIsBuiltOfEightRuns) {
  std::vector<double> values;
  for (int runs = 1; runs < 8; ++runs) {
    values.push_back(runs % 2 == 0 ? 1 : 1.3);
    const History history = judged(times(values));
    EXPECT_EQ(history.series[0].verdict.state, "too short");
    EXPECT_EQ(history.series[0].verdict.reason, fmt::format("{} of 8 runs", runs));
    EXPECT_EQ(history.code, ExitCode::ok);
  }
  values.push_back(1);
  EXPECT_NE(verdict(times(values)).state, "too short");
}

TEST_F(HistoryTest, ALostNumberFailsUntilSomebodyAnswersForIt) {
  std::vector<NamedResult> results = times({1, 1, 1});
  results.push_back(test::history_run(3, {test::row("unsupported", 0)}));
  History now = judged(results);
  EXPECT_EQ(now.series[0].verdict.state, "lost");
  EXPECT_EQ(now.count("lost"), 1U);
  EXPECT_EQ(now.code, ExitCode::incomparable);
  const Promotion given_up{"all", {}, "me", "the card is gone", true, {}};
  const Promotion blindly{"all", {}, "me", "the card is gone", false, {}};
  const History history = collect_history(results, std::nullopt, std::nullopt);
  EXPECT_THROW(Anchors(folder_).promotions(history, blindly), InputError);
  Anchors(folder_).append(Anchors(folder_).promotions(history, given_up));
  results.push_back(test::history_run(4, {test::row("unsupported", 0)}));
  now = judged(results);
  EXPECT_EQ(now.series[0].verdict.state, "retired");
  EXPECT_EQ(now.code, ExitCode::ok);
  results.push_back(test::history_run(5, {test::row("ok", 1)}));
  EXPECT_EQ(verdict(results).state, "too short");
  results.push_back(test::history_run(6, {test::row("unsupported", 0)}));
  EXPECT_EQ(code(results), ExitCode::incomparable) << "lost anew";
}

TEST_F(HistoryTest, WhatNeverHadANumberHasNoneToLose) {
  const History history = judged({test::history_run(0, {test::row("unsupported", 0)}),
                                  test::history_run(1, {test::row("unsupported", 0)})});
  EXPECT_EQ(history.code, ExitCode::ok);
  EXPECT_EQ(history.series[0].verdict.state, "no result");
  EXPECT_EQ(history.count("no result"), 1U);
  EXPECT_EQ(history.count("too short"), 0U);
  const std::string text = render_history(history, false);
  EXPECT_NE(text.find("1 without a result"), std::string::npos);
  EXPECT_NE(text.find("(2 runs): no result, unsupported"), std::string::npos) << text;
}

TEST_F(HistoryTest, HeavyTailsAndAutocorrelationGiveNoFalseState) {
  std::mt19937_64 random(6);
  std::student_t_distribution<> heavy(3);
  int alarms = 0;
  for (int trial = 0; trial < 300; ++trial) {
    History history;
    RowHistory& series = history.series.emplace_back();
    series.id = series.benchmark = series.hardware = series.system = "x";
    double state = 0;
    for (int i = 0; i < 50; ++i) {
      state = 0.3 * state + heavy(random);
      Point point;
      point.time = i;
      point.when = history_day(i);
      point.run = fmt::format("{}", i);
      point.value = std::exp(0.01 * state);
      point.launches = 5;
      series.points.push_back(point);
    }
    alarms += judge_history(history, Anchors(folder_), {}, {}).code != ExitCode::ok;
  }
  EXPECT_LE(alarms, 2);  // t of 3 degrees has a scale of 1.7 %: four of them beyond 5 % are rare
}

TEST_F(HistoryTest, TheSuitesToleranceCounts) {
  std::vector<NamedResult> results =
      times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  results.back().result.rows[0].tolerance = 0.2;
  EXPECT_EQ(verdict(results).state, "steady");
  EXPECT_EQ(verdict(results, 0.05).state, "slower");
}

TEST_F(HistoryTest, PromoteAndReset) {
  const auto results = times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  const History history = collect_history(results, std::nullopt, std::nullopt);
  const std::string id = history.series[0].id;
  EXPECT_EQ(code(results), ExitCode::slower);
  Anchors(folder_).append(
      Anchors(folder_).promotions(history, {id, {}, "me", "new library", false, {}}));
  History now = judged(results);
  EXPECT_EQ(now.code, ExitCode::ok);
  EXPECT_EQ(now.series[0].verdict.anchored->owner, "me");
  EXPECT_EQ(now.series[0].verdict.anchored->promoted, true);
  EXPECT_TRUE(!now.series[0].verdict.rolling);
  // The level is from one run: the slow level is not accepted.
  Anchors(folder_).append(
      Anchors(folder_).promotions(history, {"all", "run-3", "you", "the old one", false, {}}));
  now = judged(results);
  EXPECT_EQ(now.code, ExitCode::slower);
  EXPECT_EQ(now.series[0].verdict.anchored->run, "run-3");
  EXPECT_TRUE(now.series[0].verdict.last_ratio.has_value());
  std::vector<NamedResult> failed = results;  // the last run has no time
  failed.push_back(test::history_run(40, {test::row("failed", 0)}));
  EXPECT_FALSE(verdict(failed).last_ratio.has_value());
  Anchors(folder_).append(Anchors(folder_).resets(history, id, "me", "start again"));
  EXPECT_EQ(verdict(results).anchored->promoted, false);
  // Nothing of it was rewritten.
  std::ifstream file(folder_ / "anchors.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("new library"), std::string::npos);
  EXPECT_NE(lines[2].find("\"reset\""), std::string::npos);
  EXPECT_THROW(Anchors(folder_).resets(history, id, "me", "again"), InputError);
  EXPECT_THROW(Anchors(folder_).promotions(history, {"cnv", {}, "me", "why", false, {}}),
               InputError);
  EXPECT_THROW(Anchors(folder_).promotions(history, {id, "run-99", "me", "why", false, {}}),
               InputError);
}

TEST_F(HistoryTest, DamagedAnchorsAndEventsAreRefused) {
  write("anchors.jsonl", "{\"event\":\"promote\"}\n");
  EXPECT_THROW(Anchors{folder_}, InputError);
  write(
      "anchors.jsonl",
      R"({"schema":"assay-anchor/1","event":"promote","id":"a","hardware":"h","time":"2026-01-01","owner":"o","reason":"r","value":1.0,"unit":"ms","run":null})"
      "\n");
  EXPECT_THROW(Anchors{folder_}, InputError) << "a unit that is not the series'";
  write("events.json",
        R"({"schema":"assay-events/1","events":[{"time":"yesterday!","text":"x"}]})");
  EXPECT_THROW(read_events(folder_ / "events.json"), InputError);
}

TEST_F(HistoryTest, EventsAreOfTheirMachine) {
  write("events.json", R"({"schema":"assay-events/1","events":[
      {"time":"2026-01-03","text":"here","hardware":"hw"},{"time":"2026-01-02","text":"all"},
      {"time":"2026-01-03","text":"elsewhere","hardware":"other"}]})");
  const History history = judged(times({1, 1, 1}));
  ASSERT_EQ(history.series[0].events.size(), 2U);
  EXPECT_EQ(history.series[0].events[0].text, "all");
  EXPECT_EQ(history.series[0].events[1].text, "here");
}

}  // namespace test_history
}  // namespace assay
