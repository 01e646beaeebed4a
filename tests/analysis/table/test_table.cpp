// A table never shows a number for a row that is not ok, and never a ratio without both values.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace test_table {

using namespace assay;
using test::has;
using test::result;
using test::row;

std::string table(std::vector<nlohmann::json> rows, TableOptions options = {}) {
  return render_table({{"", result(std::move(rows))}}, {}, options);
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : split(text, '\n'))
    if (has(line, part)) return line;
  return "";
}

TEST(Table, ShowsValueIntervalRateAndError) {
  const std::string text = table({row("ok", 2e-3)});
  const std::string line = line_with(text, "list/first");
  EXPECT_TRUE(has(line, "2.00 ms")) << text;
  EXPECT_TRUE(has(line, "500 GFLOP/s")) << text;
  EXPECT_TRUE(has(line, "1.5e-07")) << text;
  EXPECT_TRUE(has(line, " .. ")) << text;
  EXPECT_TRUE(has(text, "1 ok")) << text;
}

TEST(Table, TimesOfABusyMachineAreMarked) {
  const std::string quiet = table({row("ok", 2e-3)});
  EXPECT_FALSE(has(quiet, "!")) << quiet;
  for (const char* reading : {"waiting", "stolen"}) {
    nlohmann::json object = row("ok", 2e-3);
    object["time_s"][reading] = 0.04;
    EXPECT_FALSE(has(table({object}), "!"));
    object["time_s"][reading] = 0.5;
    EXPECT_TRUE(has(table({object}), "2.00 ms!")) << table({object});
    EXPECT_TRUE(has(table({object}), "Repeat on a quiet machine"));
  }
}

TEST(Table, RatesAndEfficienciesInheritTheMark) {
  nlohmann::json entry = row("ok", 2e-3);
  entry["ceiling"] = {
      {"flops_per_s", 1e12}, {"bytes_per_s", nullptr}, {"fraction", 0.5}, {"bound_by", "compute"}};
  EXPECT_FALSE(has(table({entry}), "!")) << table({entry});
  entry["time_s"]["stolen"] = 0.5;
  EXPECT_TRUE(has(table({entry}), "500 GFLOP/s!")) << table({entry});
  EXPECT_TRUE(has(table({entry}), "50 % compute!")) << table({entry});
}

TEST(Table, OversubscriptionHasAMarkOfItsOwn) {
  nlohmann::json object = row("ok", 2e-3);
  object["time_s"]["waiting"] = 0.5;
  object["time_s"]["foreign"] = 0.01;
  for (const std::string& text : {table({object}), table({object}, {false, "precision"})}) {
    EXPECT_TRUE(has(text, "2.00 ms~")) << text;
    EXPECT_TRUE(has(text, "~ Oversubscribed")) << text;
    EXPECT_FALSE(has(text, "!")) << text;
  }
}

TEST(Table, AThrottledDeviceHasAMarkOfItsOwn) {
  nlohmann::json object = row("ok", 2e-3);
  object["device_state"] = {{"seconds", 1}, {"throttled_s", {{"power", 0.5}}}};
  for (const std::string& text : {table({object}), table({object}, {false, "precision"})}) {
    EXPECT_TRUE(has(text, "2.00 ms\u00b0")) << text;
    EXPECT_TRUE(has(text, "\u00b0 Throttled")) << text;
    EXPECT_FALSE(has(text, "!")) << text;
  }
}

TEST(Table, PivotMarksABusyMachineToo) {
  nlohmann::json entry = row("ok", 2e-3);
  EXPECT_FALSE(has(table({entry}, {false, "precision"}), "!"));
  entry["time_s"]["waiting"] = 0.5;
  const std::string text = table({entry}, {false, "precision"});
  EXPECT_TRUE(has(text, "2.00 ms!")) << text;
  EXPECT_TRUE(has(text, "Repeat on a quiet machine")) << text;
}

TEST(Table, NoIntervalIsADashAndExplained) {
  EXPECT_FALSE(has(table({row("ok", 2e-3)}), "effective samples"));
  nlohmann::json object = row("ok", 2e-3);
  object["time_s"]["ci95"] = nullptr;
  const std::string text = table({object});
  EXPECT_FALSE(has(line_with(text, "list/first"), " .. ")) << text;
  EXPECT_TRUE(has(text, "fewer than 6 effective samples")) << text;
}

TEST(Table, EnvironmentsAreNeverMerged) {
  const auto environment = [](const char* hardware, const char* software) {
    return nlohmann::json{{"host", "h"},
                          {"hashes", {{"hardware", hardware}, {"software", software}}}};
  };
  std::vector<nlohmann::json> rows;
  for (const double seconds : {1e-3, 2e-3, 5e-3, 8e-3}) {
    rows.push_back(row("ok", seconds, static_cast<int>(rows.size())));
    rows.back()["environment"] = rows.size() - 1;
  }
  nlohmann::json document = result(rows);
  // The first two differ in what is volatile alone; then other software, then other hardware.
  document["environments"] = {environment("a", "a"), environment("a", "a"), environment("a", "b"),
                              environment("b", "a")};
  for (const char* by : {"", "precision"}) {
    const std::string text = render_table({{"", document}}, {}, {false, by});
    for (const char* time : {"1.50 ms", "5.00 ms", "8.00 ms"}) EXPECT_TRUE(has(text, time)) << text;
    EXPECT_TRUE(has(text, "An id is listed more than once")) << text;
  }
  document["environments"][2] = document["environments"][3] = environment("a", "a");
  const std::string text = render_table({{"", document}}, {}, {});
  EXPECT_TRUE(has(line_with(text, "list/first"), "3.50 ms")) << text;
  EXPECT_FALSE(has(text, "An id is listed more than once")) << text;
}

TEST(Table, LibrariesOfTwoProcessesStandSideBySide) {
  const auto environment = [](const char* name, const char* blas, const char* libc) {
    return nlohmann::json{{"host", "h"},
                          {"software", {{"libraries", {{"blas", blas}, {"libc", libc}}}}},
                          {"hashes", {{"hardware", "a"}, {"software", name}}}};
  };
  std::vector<nlohmann::json> rows;
  for (const char* library : {"liba.so", "libb.so"}) {
    rows.push_back(row("ok", rows.empty() ? 1e-3 : 2e-3, 0, {{"blas", library}}));
    rows.back()["environment"] = rows.size() - 1;
  }
  nlohmann::json document = result(rows);
  document["environments"] = {environment("a", "A 1", "1"), environment("b", "B 2", "1")};
  const auto line = [&](const std::string& by) {
    return line_with(render_table({{"", document}}, {}, {false, by}), "1.00 ms");
  };
  EXPECT_TRUE(has(line("blas"), "2.00 ms")) << line("blas");
  EXPECT_TRUE(has(line("blas"), "0.5")) << line("blas");
  // Other differences are not the library's doing.
  document["environments"][1] = environment("b", "B 2", "2");
  EXPECT_FALSE(has(line("blas"), "2.00 ms")) << line("blas");
}

TEST(Table, RowsThatAreNotOkShowTheirReasonAndNoNumber) {
  const RE2 number(R"(\d (ns|µs|ms|s)\b|FLOP/s|\de-\d)");
  for (const char* status : {"incorrect", "failed", "timeout", "unsupported"})
    for (const bool markdown : {false, true}) {
      const std::string text =
          table({row(status, 2e-3)}, {.markdown = markdown, .columns = all_columns});
      const std::string line = line_with(text, "list/first");
      EXPECT_TRUE(has(line, std::string(status) + ": why it is " + status)) << text;
      EXPECT_FALSE(RE2::PartialMatch(line, number)) << line;
      EXPECT_TRUE(has(text, std::string("1 ") + status)) << text;
    }
}

TEST(Table, OneWrongLaunchTakesTheNumberFromAll) {
  for (const char* status : {"incorrect", "failed", "timeout"}) {
    const std::string text = table({row("ok", 1e-3, 0), row(status, 0, 1), row("ok", 1e-3, 2)});
    const std::string line = line_with(text, "list/first");
    EXPECT_TRUE(has(line, std::string(status) + ": in 1 of 3 launches: why")) << text;
    EXPECT_FALSE(has(line, "ms")) << text;
  }
}

TEST(Table, LaunchesAreTheUnit) {
  // Medians 1, 2 and 9 ms: their median is 2, their range the interval; the mean of all samples
  // would be 4.
  const std::string text = table({row("ok", 1e-3, 0), row("ok", 9e-3, 1), row("ok", 2e-3, 2)});
  const std::string line = line_with(text, "list/first");
  EXPECT_TRUE(has(text, "launches 3")) << text;
  EXPECT_TRUE(RE2::PartialMatch(line, R"( 2\.00 ms +1\.00 \.\. 9\.00 ms)")) << text;
}

TEST(Table, ARangeIsNeverCalledAnInterval) {
  const auto launches = [](int count, const char* problem) {
    std::vector<nlohmann::json> rows;
    for (int i = 0; i < count; ++i) rows.push_back(row("ok", 1e-3, i, {{"problem", problem}}));
    for (nlohmann::json& object : rows) object["names"] = {problem};
    return rows;
  };
  const std::vector<nlohmann::json> few = launches(5, "few"), many = launches(6, "many");
  const std::string ranges = table(few), intervals = table(many);
  EXPECT_TRUE(has(line_with(ranges, "problem"), " range ")) << ranges;
  EXPECT_FALSE(has(line_with(ranges, "problem"), "95 %")) << ranges;
  EXPECT_TRUE(has(line_with(intervals, "problem"), "95 % interval")) << intervals;
  EXPECT_FALSE(has(intervals, "range ")) << intervals;
  std::vector<nlohmann::json> both = few;
  both.insert(both.end(), many.begin(), many.end());
  const std::string mixed = table(both);
  EXPECT_TRUE(has(line_with(mixed, "few"), "range 1.00 .. 1.00 ms")) << mixed;
  EXPECT_FALSE(has(line_with(mixed, "many"), "range")) << mixed;
  const std::string csv = render_csv({{"", result(both)}}, {}, {});
  EXPECT_TRUE(has(line_with(csv, "few"), ",range,")) << csv;
  EXPECT_TRUE(has(line_with(csv, "many"), ",95 %,")) << csv;
}

TEST(Table, LaterAttemptMakesGoodACrashButNoWrongResult) {
  EXPECT_TRUE(has(line_with(table({row("failed", 0, 0), row("ok", 2e-3, 0, {}, 1)}), "list/first"),
                  "2.00 ms"));
  const std::string wrong =
      line_with(table({row("incorrect", 0, 0), row("ok", 2e-3, 0, {}, 1)}), "list/first");
  EXPECT_TRUE(has(wrong, "incorrect")) << wrong;
  EXPECT_FALSE(has(wrong, "ms")) << wrong;
}

TEST(Table, BaselineHasBothAbsolutesMarkAndCitation) {
  nlohmann::json object = row("ok", 2e-3);
  object["baseline"] = {
      {"system", "machine-x"},  {"value", 1e-3},     {"unit", "s"},
      {"speedup", 123.0},       {"published", true}, {"citation", "Paper, table 3"},
      {"algorithm", "winograd"}};
  const std::string text = table({object});
  const std::string line = line_with(text, "list/first");
  EXPECT_TRUE(has(line, "2.00 ms")) << text;
  EXPECT_TRUE(has(line, "1.00 ms*")) << text;
  EXPECT_TRUE(line.ends_with("0.5"))
      << text;  // of the values shown; what the row says of the ratio is not believed
  EXPECT_TRUE(has(line, "winograd")) << text;
  EXPECT_TRUE(has(text, "this over machine-x")) << text;
  EXPECT_TRUE(has(text, "speedup: this over machine-x, above 1 this is faster")) << text;
  EXPECT_TRUE(
      has(text, "* machine-x: published, not measured by Assay, without interval: Paper, table 3"))
      << text;
  object["status"] = "failed";
  EXPECT_FALSE(has(line_with(table({object}), "list/first"), "ms"));
}

TEST(Table, PivotPutsValuesSideBySide) {
  const std::vector<nlohmann::json> rows{row("ok", 1e-3, 0, {{"threads", "4"}}), row("ok", 4e-3),
                                         row("incorrect", 0, 0, {{"threads", "8"}})};
  const std::string text = table(rows, {false, "threads"});
  const std::string line = line_with(text, "list/first");
  EXPECT_TRUE(RE2::PartialMatch(line, R"(4\.00 ms +1\.00 ms +4 +incorrect \[1\] +-$)")) << text;
  EXPECT_TRUE(has(text, "4 over 2")) << text;
  EXPECT_TRUE(has(text, "speedup: x over 2, above 1 x is faster")) << text;
  EXPECT_TRUE(has(text, "[1] incorrect: why it is incorrect")) << text;
  // A pivot over what is incorrect has no ratio.
  const std::string bad =
      table({row("incorrect", 0), row("ok", 1e-3, 0, {{"threads", "4"}})}, {false, "threads"});
  EXPECT_TRUE(RE2::PartialMatch(line_with(bad, "list/first"), R"(incorrect \[1\] +1\.00 ms +-$)"))
      << bad;
  // A single value has no ratio to explain.
  EXPECT_FALSE(has(table({row("ok", 4e-3)}, {false, "threads"}), "speedup"));
}

TEST(Table, APivotIsOverWhatThisMachineCanMeasure) {
  std::vector<nlohmann::json> rows{row("unsupported", 0, 0, {{"backend", "cuda"}}),
                                   row("ok", 2e-3, 0, {{"backend", "native"}}), row("ok", 1e-3)};
  const std::string text = table(rows, {.by = "backend"});
  EXPECT_FALSE(has(text, " over cuda")) << text;
  EXPECT_TRUE(RE2::PartialMatch(line_with(text, "list/first"), R"(1\.00 ms +2 |2\.00 ms +0\.5 )"))
      << text;
}

TEST(Table, APivotIsOverAValueThatOthersStandBeside) {
  // Only one backend has the choice: the other's rows have its default, in lines of their own.
  const std::vector<nlohmann::json> rows{
      row("ok", 4e-3, 0, {{"blas", "auto"}}),
      row("ok", 2e-3, 0, {{"backend", "blas"}, {"blas", "libopenblas.so.0"}}),
      row("ok", 1e-3, 0, {{"backend", "blas"}, {"blas", "libblis.so.4"}})};
  const std::string text = table(rows, {.by = "blas"});
  EXPECT_TRUE(has(text, "libopenblas.so.0 over libblis.so.4")) << text;
}

TEST(Table, ByPrecisionStandsBesideAnotherSystemToo) {
  nlohmann::json narrow = row("ok", 1e-3, 0, {{"precision", "bf16"}});
  narrow["verification"]["max_error"] = 4e-3;
  nlohmann::json theirs = row("ok", 2e-3);
  const std::string crossed =
      render_table({{"", result({narrow, row("ok", 4e-3)})}}, {Baseline::make("other", {theirs})},
                   {false, "precision"});
  EXPECT_TRUE(RE2::PartialMatch(crossed, R"(value +error +other precision fp32 over row\n)"))
      << crossed;
  EXPECT_TRUE(RE2::PartialMatch(crossed, R"(bf16 .* 1\.00 ms +4\.0e-03 +0\.50x\n)")) << crossed;
  EXPECT_TRUE(RE2::PartialMatch(crossed, R"(fp32 .* 4\.00 ms +1\.5e-07 +2\.00x\n)")) << crossed;
  // The error says nothing of another parameter's values.
  EXPECT_FALSE(
      has(table({row("ok", 1e-3), row("ok", 2e-3, 0, {{"cache", "cold"}})}, {false, "cache"}),
          "error of"));
}

TEST(Table, NoCommonProblemIsSaidFirst) {
  const std::vector<NamedResult> mine{{"", result({row("ok", 1e-3)})}};
  nlohmann::json other = row("ok", 1e-3);
  other["problem"]["descriptor"] = "mb2ic8ih8oc8oh8kh3ph1";
  const std::string said =
      "No problem is common with other: no row here has a counterpart "
      "(they have conv mb1ic8ih8oc8oh8kh3ph1, other has conv "
      "mb2ic8ih8oc8oh8kh3ph1).\n";
  for (const char* by : {"", "threads"})
    EXPECT_TRUE(
        render_table(mine, {Baseline::make("other", {other})}, {false, by}).starts_with(said))
        << render_table(mine, {Baseline::make("other", {other})}, {false, by});
  EXPECT_FALSE(has(render_table(mine, {Baseline::make("other", {other, row("ok", 2e-3)})}, {}),
                   "No problem is common"));
  EXPECT_FALSE(has(table({row("ok", 1e-3)}), "No problem is common"));
}

TEST(Table, ASystemThatWasAskedForButHasNoRatioHasAReason) {
  const std::vector<NamedResult> mine{{"", result({row("ok", 1e-3)})}};
  const std::vector<Baseline> other{
      Baseline::make("other", {row("ok", 1e-3, 0, {{"precision", "bf16"}})})};
  for (const bool markdown : {false, true}) {
    const std::string text = render_table(mine, other, {markdown});
    EXPECT_TRUE(has(text, "No ratio (-): other: precision is fp32 here and bf16 there.")) << text;
    EXPECT_FALSE(has(text, "speedup")) << "an empty column\n" << text;
  }
}

TEST(Table, NoCommonProblemOfSystemsIsSaidFirst) {
  nlohmann::json other = row("ok", 1e-3);
  other["problem"]["descriptor"] = "mb2ic8ih8oc8oh8kh3ph1";
  other["names"] = nlohmann::json::array();
  other["id"] = "conv/other";
  std::vector<NamedResult> results{{"a", result({row("ok", 1e-3)})}, {"b", result({other})}};
  results[0].result.system = "here";
  results[1].result.system = "there";
  const auto by_system = [&] { return render_table(results, {}, {.by = "system"}); };
  EXPECT_TRUE(
      by_system().starts_with("No problem is common with there: no row here has a "
                              "counterpart (they have conv mb1ic8ih8oc8oh8kh3ph1, there "
                              "has conv mb2ic8ih8oc8oh8kh3ph1).\n"))
      << by_system();
  results.push_back({"c", result({row("ok", 1e-3), other})});
  results[2].result.system = "third";
  EXPECT_FALSE(has(by_system(), "No problem is common")) << by_system();
  results.pop_back();
  const Row same = row("ok", 2e-3);
  results[1].result.rows.push_back(same);
  EXPECT_FALSE(has(by_system(), "No problem is common")) << by_system();
}

TEST(Table, TheSystemThatIsMadeAParameterIsNotTheWork) {
  nlohmann::json mine = row("ok", 1e-3);
  mine["system_parameters"] = {"backend"};
  std::vector<NamedResult> results;
  results.push_back({"a", result({mine})});
  const Row shown = select_series(results, {.by = "system"}).at(0).first();
  ASSERT_TRUE(shown.parameters.contains("system"));
  std::string why;
  EXPECT_TRUE(Baseline::make("other", {row("ok", 2e-3)}).match(shown, &why)) << why;
}

TEST(Table, PivotOverCountsIsInTheirOrder) {
  std::vector<nlohmann::json> rows;
  for (const int threads : {16, 2, 4}) {
    rows.push_back(row("ok", 16e-3 / threads, 0, {{"threads", std::to_string(threads)}}));
  }
  const std::string text = table(rows, {false, "threads"});
  EXPECT_TRUE(RE2::PartialMatch(line_with(text, "problem"), R"( 2 +4 +4 over 2 +16 +16 over 2$)"))
      << text;
  EXPECT_TRUE(
      RE2::PartialMatch(line_with(text, "list/first"), R"(8\.00 ms +4\.00 ms +2 +1\.00 ms +8$)"))
      << text;
}

TEST(Table, UnknownParameterIsRefusedWithTheNearest) {
  for (const auto& [wrong, right] : {std::pair{"precison", "'precision'"}, {"sytem", "'system'"}}) {
    try {
      table({row("ok", 1e-3)}, {false, wrong});
      FAIL();
    } catch (const InputError& error) {
      EXPECT_TRUE(has(error.what(), right)) << error.what();
    }
  }
}

TEST(Table, ParametersThatDifferGetAColumnOthersOneLine) {
  const std::string text = table({row("ok", 1e-3), row("ok", 1e-3, 0, {{"cache", "cold"}})});
  EXPECT_TRUE(has(text,
                  "all rows: direction forward, precision fp32, backend onednn, algorithm direct, "
                  "nodes 1, ranks 1, threads 2\n"))
      << text;
  EXPECT_TRUE(has(line_with(text, "problem"), "cache")) << text;
}

TEST(Table, SeveralResultsStandTogetherByCase) {
  const std::vector<NamedResult> results{
      {"a", result({row("ok", 1e-3), row("ok", 3e-3, 0, {{"precision", "bf16"}})})},
      {"b", result({row("ok", 2e-3)})}};
  const auto lines = split(render_table(results, {}, {}), '\n');
  std::vector<std::string> order;
  for (const std::string& line : lines)
    if (has(line, "list/first"))
      order.push_back(line.substr(0, 1) + (has(line, "bf16") ? " bf16" : " fp32"));
  EXPECT_EQ(order, (std::vector<std::string>{"a bf16", "a fp32", "b fp32"}));
}

TEST(Table, PublishedRowsAreMarked) {
  nlohmann::json object = row("ok", 2e-3);
  object["published"] = true;
  object["citation"] = "Paper, table 4";
  object["time_s"] = {{"median", 2e-3}};
  object["verification"] = nullptr;
  const std::string text = table({object});
  EXPECT_TRUE(has(line_with(text, "list/first"), "2.00 ms*")) << text;
  EXPECT_TRUE(has(text, ": published, not measured by Assay")) << text;
  EXPECT_TRUE(has(text, "Paper, table 4")) << text;
}

TEST(Table, EmptyResult) { EXPECT_TRUE(has(table({}), "no rows")); }

}  // namespace test_table
