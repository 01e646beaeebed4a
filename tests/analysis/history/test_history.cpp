#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "analysis/history/history.hpp"
#include "analysis/history/times.hpp"
#include "core/base/error.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string day(int number) {
  return fmt::format("2026-{:02}-{:02}T08:00:00.000Z", 1 + number / 28, 1 + number % 28);
}

/// A run on `number`'s day, its rows on a machine of this hardware and software.
NamedResult run(int number, std::vector<json> rows, const std::string& hardware = "hw",
                const std::string& software = "3.0") {
  json made = test::result(std::move(rows));
  made["run"]["id"] = fmt::format("run-{}", number);
  made["run"]["started"] = made["run"]["finished"] = day(number);
  made["system"]["name"] = "system";
  made["environments"] = {{{"host", "node"},
                           {"hardware", json::object()},
                           {"software", {{"libraries", {{"onednn", software}}}}},
                           {"volatile", json::object()},
                           {"hashes", {{"hardware", hardware}, {"software", "sw" + software}}}}};
  return {fmt::format("file-{}", number), made};
}

class History : public testing::Test {
 protected:
  History() { fs::create_directories(folder_); }
  ~History() override { fs::remove_all(folder_); }

  json document(const std::vector<NamedResult>& results, HistoryOptions options = {}) {
    const json made = history_document(histories_of(results, std::nullopt, std::nullopt),
                                       Anchors(folder_), events_of(folder_), options);
    EXPECT_EQ(schema_errors(made, "history", "document"), std::vector<std::string>{});
    return made;
  }

  std::vector<NamedResult> times(const std::vector<double>& seconds) {
    std::vector<NamedResult> results;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      results.push_back(run(static_cast<int>(i), {test::row("ok", seconds[i])}));
    return results;
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("assay-history-{}", getpid());
};

TEST_F(History, ARowThatVanishesFromItsSuiteIsMissing) {
  const auto whole = [](int number, bool both, const std::string& hash, const json& cases) {
    std::vector<json> rows{test::row("ok", 1, 0, {{"threads", "2"}})};
    if (both) rows.push_back(test::row("ok", 2, 0, {{"threads", "4"}}));
    NamedResult made = run(number, rows);
    made.result["run"].update(
        {{"suite", "s"}, {"suite_hash", hash}, {"filter", ""}, {"cases", cases}});
    return made;
  };
  const json none = json::array();
  std::vector<NamedResult> results;
  for (int i = 0; i < 12; ++i) results.push_back(whole(i, true, "h", none));
  EXPECT_EQ(document(results)["exit_code"], 0);
  results.push_back(whole(12, false, "h", {"conv/some"}));  // a part of the suite says nothing
  results.push_back(whole(13, false, "another", none));     // nor does another suite of its name
  EXPECT_EQ(document(results)["exit_code"], 0);
  results.push_back(whole(14, false, "h", none));
  const json made = document(results);
  EXPECT_EQ(made["exit_code"], 6);
  int gaps = 0;
  for (const json& series : made["series"])
    for (const json& gap : series["gaps"]) {
      ++gaps;
      EXPECT_EQ(gap["status"], "missing");
      EXPECT_EQ(gap["run"], "run-14");
      EXPECT_NE(series["id"].get<std::string>().find("4"), std::string::npos);
    }
  EXPECT_EQ(gaps, 1);
  results.push_back(whole(15, true, "h", none));
  EXPECT_EQ(document(results)["exit_code"], 0) << "it is there again";
}

std::string refused(const std::vector<NamedResult>& results, double now = seconds_now()) {
  try {
    histories_of(results, std::nullopt, std::nullopt, now);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

/// Noise of 1 % about 1 s, times what `level` gives for each point.
template <class Level>
std::vector<double> noisy(std::size_t n, std::uint64_t seed, Level level) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> normal(0, 0.01);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(level(i) * std::exp(normal(random)));
  return values;
}

TEST_F(History, APointIsARunAndTheMedianOfItsLaunches) {
  const json made =
      document({run(1, {test::row("ok", 3, 0), test::row("ok", 1, 1), test::row("ok", 2, 2)}),
                run(0, {test::row("ok", 5)})});
  ASSERT_EQ(made["series"].size(), 1U);
  const json& points = made["series"][0]["points"];
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0]["value"], 5.0);  // by time, not in the order of the files
  EXPECT_TRUE(points[0]["low"].is_null());
  EXPECT_EQ(points[1]["value"], 2.0);
  EXPECT_EQ(points[1]["low"], 1.0);
  EXPECT_EQ(points[1]["high"], 3.0);
  EXPECT_EQ(points[1]["launches"], 3);
  EXPECT_EQ(made["series"][0]["state"], "too short");
  EXPECT_EQ(made["series"][0]["reason"], "2 of 8 runs");
  EXPECT_EQ(made["exit_code"], 0) << "a series that is being built fails nothing";
}

TEST_F(History, TwoMachinesNeverShareASeries) {
  const json made =
      document({run(0, {test::row("ok", 1)}, "old"), run(1, {test::row("ok", 2)}, "new"),
                run(2, {test::row("ok", 1)}, "old", "3.1")});
  ASSERT_EQ(made["series"].size(), 2U);
  EXPECT_EQ(made["series"][0]["hardware"], "new");
  EXPECT_EQ(made["series"][0]["points"].size(), 1U);
  EXPECT_EQ(made["series"][1]["points"].size(), 2U);
  // Another software is a mark, and says what changed.
  ASSERT_EQ(made["series"][1]["events"].size(), 1U);
  EXPECT_EQ(made["series"][1]["events"][0]["text"], "/libraries/onednn: 3.0 → 3.1");
}

TEST_F(History, NothingIsFilledIn) {
  std::vector<NamedResult> results = times(std::vector<double>(10, 1.0));
  results[4] = run(4, {test::row("incorrect", 0.5)});
  const json made = document(results);
  EXPECT_EQ(made["series"][0]["points"].size(), 9U);
  ASSERT_EQ(made["series"][0]["gaps"].size(), 1U);
  EXPECT_EQ(made["series"][0]["gaps"][0]["status"], "incorrect");
  EXPECT_EQ(made["exit_code"], 0);
  // A last run without a number is not hidden by those before it.
  results.emplace_back();
  for (const auto& [status, code] :
       {std::pair{"incorrect", 3}, {"failed", 7}, {"target missed", 9}, {"unsupported", 6}}) {
    results.back() = run(10, {test::row(status, 0.5)});
    EXPECT_EQ(document(results)["exit_code"], code) << status;
  }
  EXPECT_EQ(document(results)["series"][0]["state"], "lost");
}

TEST_F(History, WhatHasNoPlaceIsTold) {
  NamedResult undated = run(0, {test::row("ok", 1)}), unknown = run(1, {test::row("ok", 1)});
  undated.result["run"]["started"] = nullptr;
  unknown.result["environments"][0]["hashes"]["hardware"] = nullptr;
  const json made = document({undated, unknown});
  EXPECT_EQ(made["passed_over"].size(), 2U);
  EXPECT_EQ(made["exit_code"], 6);
}

TEST_F(History, BadInputIsNamedAndRefused) {
  NamedResult again = run(1, {test::row("ok", 1)});
  again.result["run"]["id"] = "run-0";
  EXPECT_NE(refused({run(0, {test::row("ok", 1)}), again})
                .find("file-0 and file-1 are both results of run run-0"),
            std::string::npos);
  NamedResult same = run(1, {test::row("ok", 1)});
  same.result["run"]["started"] = same.result["run"]["finished"] = day(0);
  EXPECT_NE(refused({run(0, {test::row("ok", 1)}), same}).find("a clock went backwards"),
            std::string::npos);
  NamedResult backwards = run(3, {test::row("ok", 1)});
  backwards.result["run"]["finished"] = day(2);
  EXPECT_NE(refused({backwards}).find("file-3 at /run/finished"), std::string::npos);
  // A run of tomorrow, and one that a clock some minutes ahead has dated.
  const double now = time_of(day(3), "now");
  const std::vector<NamedResult> tomorrow{run(4, {test::row("ok", 1)})};
  EXPECT_NE(refused(tomorrow, now).find("file-4 at /run/started"), std::string::npos);
  EXPECT_EQ(refused(tomorrow, now + 86400 - 600), "not refused");
  NamedResult local = run(3, {test::row("ok", 1)});
  local.result["run"]["started"] = "2026-01-01T08:00:00+01:00";
  EXPECT_NE(refused({local}).find("file-3 at /run/started"), std::string::npos);
  NamedResult other = run(1, {test::row("ok", 1)});
  other.result["rows"][0]["problem"]["descriptor"] = "mb2";
  EXPECT_NE(refused({run(0, {test::row("ok", 1)}), other}).find("two problems cannot be compared"),
            std::string::npos);
}

TEST_F(History, AStepIsSlowerThanBothBaselines) {
  const json made = document(times(noisy(40, 1, [](std::size_t i) { return i < 36 ? 1 : 1.1; })));
  const json& series = made["series"][0];
  EXPECT_EQ(series["state"], "slower");
  EXPECT_EQ(series["rolling"]["state"], "slower");
  EXPECT_EQ(series["anchored"]["state"], "slower");
  EXPECT_EQ(series["anchored"]["promoted"], false);
  ASSERT_EQ(series["change_points"].size(), 1U);
  EXPECT_EQ(series["change_points"][0]["index"], 36);
  EXPECT_NEAR(series["change_points"][0]["ratio"].get<double>(), 1.1, 0.02);
  EXPECT_EQ(made["exit_code"], 4);
}

TEST_F(History, AnImprovementNeverFails) {
  const json made = document(times(noisy(40, 2, [](std::size_t i) { return i < 30 ? 1 : 0.8; })));
  EXPECT_EQ(made["series"][0]["state"], "faster");
  EXPECT_EQ(made["exit_code"], 0);
}

TEST_F(History, DriftIsSeenByTheAnchorAlone) {
  const json made = document(
      times(noisy(50, 3, [](std::size_t i) { return std::pow(1.002, static_cast<double>(i)); })));
  const json& series = made["series"][0];
  EXPECT_EQ(series["rolling"]["state"], "steady");
  EXPECT_EQ(series["anchored"]["state"], "slower");
  EXPECT_EQ(series["state"], "drifting");
  EXPECT_EQ(made["exit_code"], 4);
}

TEST_F(History, OneOutlierIsNoAlarm) {
  // In its own run nobody can tell it from a step: it is a question, which fails nothing.
  std::vector<double> values = noisy(30, 4, [](std::size_t i) { return i < 29 ? 1 : 1.5; });
  json made = document(times(values));
  EXPECT_EQ(made["series"][0]["state"], "suspect");
  EXPECT_EQ(made["exit_code"], 0);
  values.push_back(1);
  made = document(times(values));
  EXPECT_EQ(made["series"][0]["state"], "steady");
  EXPECT_EQ(made["exit_code"], 0);
}

TEST_F(History, AStepIsSuspectInTheRunInWhichItHappens) {
  for (const std::size_t before : {8, 9, 20, 40}) {
    const auto step = [&](std::size_t i) { return i < before ? 1 : 1.1; };
    std::vector<double> values = noisy(before, 7, step);
    EXPECT_EQ(document(times(values))["series"][0]["state"], "steady") << before;
    for (int later = 0; later < 3; ++later) {  // and stays so until it is significant
      values.push_back(1.1 + 0.002 * later);
      const json made = document(times(values));
      EXPECT_EQ(made["series"][0]["state"], "suspect") << before << " " << later;
      EXPECT_EQ(made["exit_code"], 0);
      EXPECT_EQ(made["summary"]["suspect"], 1);
    }
  }
  // Earlier outliers hide nothing, be they slower or as slow (test_suspect.cpp has the levels).
  std::vector<double> values = noisy(20, 8, [](std::size_t i) { return i == 12 ? 1.5 : 1; });
  values.push_back(1.1);
  EXPECT_EQ(document(times(values))["series"][0]["state"], "suspect");
  values[12] = 1.11;
  EXPECT_EQ(document(times(values))["series"][0]["state"], "suspect");
}

TEST_F(History, APromotedLevelIsNoSuspectAndTheNextStepIs) {
  std::vector<double> values = noisy(20, 9, [](std::size_t i) { return i < 16 ? 1 : 1.1; });
  EXPECT_NE(document(times(values))["series"][0]["state"], "steady");
  const Histories histories = histories_of(times(values), std::nullopt, std::nullopt);
  Anchors(folder_).append(
      Anchors(folder_).promotions(histories, {"all", {}, "me", "new", false, {}}));
  EXPECT_EQ(document(times(values))["series"][0]["state"], "steady");
  values.push_back(1.1);
  EXPECT_EQ(document(times(values))["series"][0]["state"], "steady");
  values.push_back(1.21);
  EXPECT_EQ(document(times(values))["series"][0]["state"], "suspect");
}

TEST_F(History, FastOutliersAmongTheFirstAreNoAnchor) {
  int accused = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    // The median of the first four would be 15 % below the level.
    std::vector<double> values = noisy(
        30, seed, [&](std::size_t i) { return i == seed % 4 || i == (seed + 1) % 4 ? 0.7 : 1; });
    const json made = document(times(values));
    EXPECT_NEAR(made["series"][0]["anchored"]["value"].get<double>(), 1, 0.02);
    accused += made["exit_code"] != 0;
  }
  EXPECT_EQ(accused, 0);
}

TEST_F(History, ASeriesIsBuiltOfEightRuns) {
  std::vector<double> values;
  for (int runs = 1; runs < 8; ++runs) {
    values.push_back(runs % 2 == 0 ? 1 : 1.3);
    const json made = document(times(values));
    EXPECT_EQ(made["series"][0]["state"], "too short");
    EXPECT_EQ(made["series"][0]["reason"], fmt::format("{} of 8 runs", runs));
    EXPECT_EQ(made["exit_code"], 0);
  }
  values.push_back(1);
  EXPECT_NE(document(times(values))["series"][0]["state"], "too short");
}

TEST_F(History, ALostNumberFailsUntilSomebodyAnswersForIt) {
  std::vector<NamedResult> results = times({1, 1, 1});
  results.push_back(run(3, {test::row("unsupported", 0)}));
  json made = document(results);
  EXPECT_EQ(made["series"][0]["state"], "lost");
  EXPECT_EQ(made["summary"]["lost"], 1);
  EXPECT_EQ(made["exit_code"], 6);
  const Promotion given_up{"all", {}, "me", "the card is gone", true, {}};
  const Promotion blindly{"all", {}, "me", "the card is gone", false, {}};
  const Histories histories = histories_of(results, std::nullopt, std::nullopt);
  EXPECT_THROW(Anchors(folder_).promotions(histories, blindly), InputError);
  Anchors(folder_).append(Anchors(folder_).promotions(histories, given_up));
  results.push_back(run(4, {test::row("unsupported", 0)}));
  made = document(results);
  EXPECT_EQ(made["series"][0]["state"], "retired");
  EXPECT_EQ(made["exit_code"], 0);
  results.push_back(run(5, {test::row("ok", 1)}));
  EXPECT_EQ(document(results)["series"][0]["state"], "too short");
  results.push_back(run(6, {test::row("unsupported", 0)}));
  EXPECT_EQ(document(results)["exit_code"], 6) << "lost anew";
}

TEST_F(History, WhatNeverHadANumberHasNoneToLose) {
  const json made =
      document({run(0, {test::row("unsupported", 0)}), run(1, {test::row("unsupported", 0)})});
  EXPECT_EQ(made["exit_code"], 0);
  EXPECT_EQ(made["series"][0]["state"], "no result");
  EXPECT_EQ(made["summary"]["no_result"], 1);
  EXPECT_EQ(made["summary"]["too_short"], 0);
  const std::string text = render_history(made, false);
  EXPECT_NE(text.find("1 without a result"), std::string::npos);
  EXPECT_NE(text.find("(2 runs): no result, unsupported"), std::string::npos) << text;
}

TEST_F(History, HeavyTailsAndAutocorrelationGiveNoFalseState) {
  std::mt19937_64 random(6);
  std::student_t_distribution<> heavy(3);
  int alarms = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Histories histories;
    RowHistory& series = histories.series.emplace_back();
    series.id = series.benchmark = series.hardware = series.system = "x";
    series.names = json::array();
    double state = 0;
    for (int i = 0; i < 50; ++i) {
      state = 0.3 * state + heavy(random);
      Point point;
      point.time = i;
      point.when = day(i);
      point.run = fmt::format("{}", i);
      point.value = std::exp(0.01 * state);
      point.launches = 5;
      series.points.push_back(point);
    }
    alarms += history_document(histories, Anchors(folder_), {}, {})["exit_code"] != 0;
  }
  EXPECT_LE(alarms, 2);  // t of 3 degrees has a scale of 1.7 %: four of them beyond 5 % are rare
}

TEST_F(History, TheSuitesToleranceCounts) {
  std::vector<NamedResult> results =
      times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  results.back().result["rows"][0]["tolerance"] = 0.2;
  EXPECT_EQ(document(results)["series"][0]["state"], "steady");
  EXPECT_EQ(document(results, {0.05, 0.05, ""})["series"][0]["state"], "slower");
}

TEST_F(History, PromoteAndReset) {
  const auto results = times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  const Histories histories = histories_of(results, std::nullopt, std::nullopt);
  const std::string id = histories.series[0].id;
  EXPECT_EQ(document(results)["exit_code"], 4);
  Anchors(folder_).append(
      Anchors(folder_).promotions(histories, {id, {}, "me", "new library", false, {}}));
  json made = document(results);
  EXPECT_EQ(made["exit_code"], 0);
  EXPECT_EQ(made["series"][0]["anchored"]["owner"], "me");
  EXPECT_EQ(made["series"][0]["anchored"]["promoted"], true);
  EXPECT_TRUE(made["series"][0]["rolling"].is_null());
  // From one run: the slow level is not accepted.
  Anchors(folder_).append(
      Anchors(folder_).promotions(histories, {"all", "run-3", "you", "the old one", false, {}}));
  made = document(results);
  EXPECT_EQ(made["exit_code"], 4);
  EXPECT_EQ(made["series"][0]["anchored"]["run"], "run-3");
  Anchors(folder_).append(Anchors(folder_).resets(histories, id, "me", "start again"));
  EXPECT_EQ(document(results)["series"][0]["anchored"]["promoted"], false);
  // Nothing of it was rewritten.
  std::ifstream file(folder_ / "anchors.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("new library"), std::string::npos);
  EXPECT_NE(lines[2].find("\"reset\""), std::string::npos);
  EXPECT_THROW(Anchors(folder_).resets(histories, id, "me", "again"), InputError);
  EXPECT_THROW(Anchors(folder_).promotions(histories, {"cnv", {}, "me", "why", false, {}}),
               InputError);
  EXPECT_THROW(Anchors(folder_).promotions(histories, {id, "run-99", "me", "why", false, {}}),
               InputError);
}

TEST_F(History, DamagedAnchorsAndEventsAreRefused) {
  write("anchors.jsonl", "{\"event\":\"promote\"}\n");
  EXPECT_THROW(Anchors{folder_}, InputError);
  write(
      "anchors.jsonl",
      R"({"schema":"assay-anchor/1","event":"promote","id":"a","hardware":"h","time":"2026-01-01","owner":"o","reason":"r","value":1.0,"unit":"ms","run":null})"
      "\n");
  EXPECT_THROW(Anchors{folder_}, InputError) << "a unit that is not the series'";
  write("events.json",
        R"({"schema":"assay-events/1","events":[{"time":"yesterday!","text":"x"}]})");
  EXPECT_THROW(events_of(folder_), InputError);
}

TEST_F(History, EventsAreOfTheirMachine) {
  write("events.json", R"({"schema":"assay-events/1","events":[
      {"time":"2026-01-03","text":"here","hardware":"hw"},{"time":"2026-01-02","text":"all"},
      {"time":"2026-01-03","text":"elsewhere","hardware":"other"}]})");
  const json made = document(times({1, 1, 1}));
  ASSERT_EQ(made["series"][0]["events"].size(), 2U);
  EXPECT_EQ(made["series"][0]["events"][0]["text"], "all");
  EXPECT_EQ(made["series"][0]["events"][1]["text"], "here");
}

TEST_F(History, RatiosOfTheTableAreSpeedups) {
  const json made = document(times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.25; })));
  const json& anchored = made["series"][0]["anchored"];
  ASSERT_GT(anchored["ratio"].get<double>(), 1.2) << "of the times, in the document";
  const std::string text = render_history(made, false);
  for (const std::string& part :
       {fmt::format(" {:.3f} ", 1 / anchored["ratio"].get<double>()), std::string("over anchored"),
        std::string("speedup: the latest over the baseline, above 1 the latest is faster")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.find("above 1: slower"), std::string::npos);
}

TEST_F(History, OutputsHoldNoControlCharacter) {
  auto results = times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  for (NamedResult& result : results) result.result["system"]["name"] = "a\x1b[31m|b";
  const json made = document(results);
  for (const std::string& text :
       {render_history(made, false), render_history(made, true), history_csv(made)})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(render_history(made, true).find("\\|b"), std::string::npos);
}

}  // namespace
}  // namespace assay
