// A table shows what tells its rows apart, fits a terminal, and explains only what is in it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <functional>

#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace test_row_table {

using namespace assay;
using nlohmann::json;
using test::collective;
using test::has;
using test::result;
using test::row;

std::string table(std::vector<json> rows, const TableOptions& options = {}) {
  return render_table({{"", result(std::move(rows))}}, {}, options);
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : split(text, '\n'))
    if (has(line, part)) return line;
  return "";
}

json named(json object, const std::string& problem) {
  object["names"] = {problem};
  return object;
}

TEST(RowTable, ConstantParametersAreNoColumns) {
  const std::string text = table({row("ok", 1e-3), row("ok", 2e-3, 0, {{"precision", "bf16"}})});
  EXPECT_TRUE(RE2::PartialMatch(line_with(text, "problem"),
                                R"(^problem +precision +time +95 % interval +rate +error$)"))
      << text;
  EXPECT_TRUE(has(text, "all rows: direction forward, backend onednn, algorithm direct, cache hot"))
      << text;
  // The algorithm that ran counts, not the one asked for.
  json other = row("ok", 1e-3, 0, {{"cache", "cold"}});
  other["executed"]["algorithm"] = "winograd";
  EXPECT_TRUE(has(table({row("ok", 1e-3), other}), "winograd (direct)"));
}

TEST(RowTable, WhatABenchmarkAloneHasIsToldOfItAlone) {
  json other = row("ok", 1e-3, 0, {{"kind", "copy"}});
  other["benchmark"] = "stream";
  const std::string text = table({row("ok", 1e-3), other});
  EXPECT_FALSE(has(line_with(text, "problem"), "kind")) << text;
  EXPECT_TRUE(has(text, "\nstream: kind copy\n")) << text;
}

json with_energy(json object, const json& domains) {
  double sum = 0;
  for (const auto& [name, joules] : domains.items()) sum += joules.get<double>();
  object["energy_j"] = sum;
  object["energy_domains_j"] = domains;
  object["energy_reason"] = nullptr;
  return object;
}

TEST(RowTable, EnergyIsAColumnForThoseWhoAsk) {
  const std::vector<json> rows{
      with_energy(row("ok", 1e-3, 0), {{"package-0", 1.0}, {"package-0/dram", 0.5}}),
      with_energy(row("ok", 1e-3, 1), {{"package-0", 2.0}, {"package-0/dram", 0.5}}),
      with_energy(row("ok", 1e-3, 2), {{"package-0", 4.0}, {"package-0/dram", 0.5}})};
  EXPECT_FALSE(has(table(rows), "energy"));
  TableOptions options;
  options.columns = {"problem", "energy"};
  const std::string text = table(rows, options);
  EXPECT_TRUE(has(text, "2.50 J")) << "the median of the launches\n" << text;
  EXPECT_TRUE(has(text, "energy: joules per run of package-0 + package-0/dram (")) << text;
  // Times stay times.
  options.columns = {"problem", "time"};
  EXPECT_TRUE(has(table(rows, options), "1.00 ms"));
}

TEST(RowTable, EnergyThatIsNotKnownSaysWhyBelow) {
  TableOptions options;
  options.columns = {"problem", "energy"};
  json unknown = row("ok", 1e-3, 1);
  unknown["energy_reason"] = "only root reads it";
  EXPECT_TRUE(has(table({unknown}, options), "No energy (-): only root reads it."))
      << table({unknown}, options);
  // Launches that counted different things have no common number.
  for (const json& other : {unknown, with_energy(row("ok", 1e-3, 1), {{"gpu 0", 1.0}})}) {
    const std::string text =
        table({with_energy(row("ok", 1e-3, 0), {{"package-0", 1.0}}), other}, options);
    EXPECT_FALSE(has(text, "1.00 J")) << text;
  }
}

TEST(RowTable, TheListOfAllProblemsIsToldOnce) {
  const std::string text = table(
      {named(row("ok", 1e-3), "net/a"), named(row("ok", 1e-3, 0, {{"cache", "cold"}}), "net/b")});
  EXPECT_TRUE(RE2::PartialMatch(text, R"(problems of\s+net\n)")) << text;
  EXPECT_TRUE(line_with(text, "cold").starts_with("b ")) << text;
  const std::string two = table(
      {named(row("ok", 1e-3), "net/a"), named(row("ok", 1e-3, 0, {{"cache", "cold"}}), "web/a")});
  EXPECT_TRUE(has(two, "net/a") && has(two, "web/a")) << two;
}

TEST(RowTable, UnsupportedRowsAreOneLineWithTheirReasons) {
  std::vector<json> rows{row("ok", 1e-3)};
  for (const char* precision : {"bf16", "fp16", "int8"}) {
    rows.push_back(row("unsupported", 0, 0, {{"precision", precision}, {"algorithm", "winograd"}}));
    const std::string problem = rows.back()["problem"]["descriptor"];
    rows.back()["reason"] = precision == std::string("int8")
                                ? "another reason"
                                : fmt::format("no primitive ({}, {})", precision, problem);
  }
  for (const bool markdown : {false, true}) {
    const std::string text = table(rows, {.markdown = markdown});
    EXPECT_TRUE(has(text, markdown ? "3 unsupported rows not shown \\[1\\] \\[2\\]"
                                   : "\n3 unsupported rows not shown [1] [2]\n"))
        << text;
    EXPECT_TRUE(has(text, markdown ? "2 unsupported (problem list/first, algorithm winograd)"
                                   : "[1] 2 unsupported (problem list/first, algorithm winograd): "
                                     "no primitive\n"))
        << text;
    EXPECT_TRUE(has(text, "precision int8")) << text;
    EXPECT_TRUE(has(text, "1 ok, 3 unsupported")) << text;
    const std::string all = table(rows, {.markdown = markdown, .columns = all_columns});
    EXPECT_TRUE(has(line_with(all, "fp16"), "unsupported: no primitive (fp16, mb1")) << all;
    EXPECT_FALSE(has(all, "not shown")) << all;
  }
  // A row that a suite requires is a failure, and has its own line.
  rows[1]["required"] = true;
  EXPECT_TRUE(has(line_with(table(rows), "bf16"), "unsupported")) << table(rows);
  EXPECT_TRUE(has(table(rows), "2 unsupported rows not shown")) << table(rows);
}

TEST(RowTable, FitsATerminal) {
  std::vector<json> rows;
  for (const char* direction : {"forward", "bwd_weights"}) {
    rows.push_back(row("ok", 1e-3, 0, {{"direction", direction}}));
    rows.back()["ceiling"] = {{"flops_per_s", 1e12},
                              {"bytes_per_s", nullptr},
                              {"fraction", 0.5},
                              {"bound_by", "compute"}};
    rows.back()["names"] = {"deepbench-train/train-conv-012"};
  }
  rows.push_back(row("failed", 0, 0, {{"precision", "bf16"}}));
  rows.back()["reason"] = std::string(300, 'x') + " end";
  const std::string text = table(rows), all = table(rows, {.columns = all_columns});
  EXPECT_FALSE(has(line_with(text, "problem "), " error")) << text;
  EXPECT_TRUE(has(text, "Not shown, to fit 120 characters: error (--columns all shows them)."))
      << text;
  EXPECT_TRUE(has(line_with(text, "problem "), "of ceiling")) << text;
  EXPECT_TRUE(has(all, "1.5e-07")) << all;
  EXPECT_TRUE(has(line_with(text, "bf16"), "failed [1]")) << text;
  EXPECT_TRUE(has(text, std::string(300, 'x') + "\n  end")) << text;  // whole
  for (const std::string& line : split(text, '\n')) {
    const bool long_word = has(line, "xxx");
    EXPECT_TRUE(long_word || count_columns(line) <= table_width) << line;
  }
  // A page is as wide as it needs.
  EXPECT_TRUE(has(table(rows, {.markdown = true}), "1.5e-07"));
}

json measured(json object, const std::string& benchmark, const std::string& name) {
  object["benchmark"] = benchmark;
  object["id"] = benchmark + "/" + object["id"].get<std::string>() + "/" + name;
  object["names"] = {name};
  object["ceiling"] = {
      {"flops_per_s", 1e12}, {"bytes_per_s", nullptr}, {"fraction", 0.5}, {"bound_by", "compute"}};
  return object;
}

/// Rows as of the suite smoke: several benchmarks, each with parameters of its own.
std::vector<json> several_benchmarks_rows() {
  std::vector<json> rows;
  for (const char* problem : {"deepbench-train/train-conv-012", "coral2/implicit_gemm"})
    for (const char* direction : {"forward", "bwd_weights"})
      for (const char* algorithm : {"winograd", "implicit_gemm (auto)"})
        for (const char* backend : {"onednn", "reference"})
          rows.push_back(measured(row("ok", 1e-3, 0,
                                      {{"direction", direction},
                                       {"algorithm", algorithm},
                                       {"backend", backend},
                                       {"precision", *backend == 'o' ? "bf16" : "fp32"},
                                       {"problem", problem}}),
                                  "conv", problem));
  for (json& object : rows) object["executed"]["algorithm"] = object["parameters"]["algorithm"];
  for (const char* backend : {"blas", "onednn"})
    rows.push_back(measured(row("ok", 2e-3, 0, {{"backend", backend}, {"kind", "plain"}}), "gemm",
                            "deepbench-train/train-gemm-003"));
  rows.push_back(measured(row("ok", 3e-3), "pca", "n16384d64"));
  for (const char* name : {"first_sd", "last_sd", "unresolved", "a_further_metric_of_this_program"})
    rows.back()["metrics"][name] = {{"value", 1.5}, {"unit", "1"}};
  return rows;
}

TEST(RowTable, TakesTheWidthOfTheTerminal) {
  const std::vector<json> rows = several_benchmarks_rows();
  const std::size_t before = table_width;
  std::vector<std::ptrdiff_t> left_out;  // columns of all tables
  for (const std::size_t width : {80, 100, 120, 200, 1000}) {
    table_width = width;
    const std::string text = render_table(
        {{"", result(rows)}}, {Baseline::make("deepbench-v100", {rows.begin(), rows.end()})}, {});
    for (const std::string& line : split(text, '\n')) EXPECT_LE(count_columns(line), width) << text;
    left_out.push_back(0);
    for (std::size_t at = 0; (at = text.find("Not shown", at)) != std::string::npos; ++at) {
      const std::string names = text.substr(at, text.find(" (", at) - at);
      left_out.back() += std::ranges::count(names.substr(names.find(':')), ',') + 1;
    }
  }
  table_width = before;
  EXPECT_TRUE(std::ranges::is_sorted(left_out, std::greater{})) << json(left_out).dump();
  EXPECT_GT(left_out.front(), left_out[3]) << json(left_out).dump();
  EXPECT_EQ(left_out.back(), 0) << json(left_out).dump();
}

TEST(RowTable, SeveralBenchmarksBesideABaselineFitATerminal) {
  const std::vector<json> rows = several_benchmarks_rows();
  const std::string text = render_table(
      {{"", result(rows)}}, {Baseline::make("deepbench-v100", {rows.begin(), rows.end()})}, {});
  std::size_t heads = 0, times = 0;
  for (const std::string& line : split(text, '\n')) {
    EXPECT_LE(count_columns(line), table_width) << line;
    heads += has(line, " time ") && has(line, "speedup") ? 1 : 0;
    times += RE2::PartialMatch(line, R"( \d\.\d\d ms .* 1$)") ? 1 : 0;
  }
  EXPECT_EQ(heads, 3u) << "a table for each benchmark\n" << text;
  EXPECT_EQ(times, rows.size()) << "each row with its time and speedup\n" << text;
  // Properties of all rows are told once, those of a benchmark's rows above its table.
  EXPECT_TRUE(has(text, "all rows: cache hot, nodes 1, ranks 1, threads 2\n")) << text;
  EXPECT_TRUE(has(line_with(text, "gemm: "), "kind plain")) << text;
  EXPECT_FALSE(has(line_with(text, "gemm: "), "threads")) << text;
  // Problems with several rows stand above them, and lose no column.
  EXPECT_TRUE(has(text, "\ncoral2/implicit_gemm\n")) << text;
  EXPECT_TRUE(has(text, "\ndeepbench-train/train-conv-012\n")) << text;
  EXPECT_TRUE(has(text, "\nn16384d64 ")) << text;
  EXPECT_TRUE(RE2::PartialMatch(
      line_with(text, "direction "),
      R"(^direction +precision +backend +algorithm +time +95 % interval +rate .*speedup$)"))
      << text;
  EXPECT_TRUE(has(text, "Not shown of conv, to fit 120 characters: ")) << text;
  EXPECT_TRUE(has(text, "19 ok")) << text;
  // AllowedPrograms columns are all shown: there the rows stand together.
  EXPECT_TRUE(has(table(rows, {.columns = {"benchmark", "time"}}), "\nbenchmark "));
}

TEST(RowTable, SeveralBenchmarksOnAPageHaveTheirOwnMetrics) {
  std::vector<json> rows = several_benchmarks_rows();
  const std::string text = table(rows, {.markdown = true});
  EXPECT_FALSE(has(text, "benchmark |")) << text;
  EXPECT_TRUE(has(text, "\n\nconv\n\n| problem")) << text;
  EXPECT_TRUE(has(text, "algorithm direct, kind plain\n\n| problem | backend")) << text;
  std::size_t heads = 0;
  for (const std::string& line : split(text, '\n')) heads += has(line, "first\\_sd") ? 1 : 0;
  EXPECT_EQ(heads, 1u) << "a metric is a column of its benchmark's table alone\n" << text;
  // Every column is there: a page is as wide as it needs.
  EXPECT_FALSE(has(text, "Not shown")) << text;
}

TEST(RowTable, SortedRowsStandInOneTable) {
  const std::vector<json> rows = several_benchmarks_rows();
  const std::string text = render_table(
      {{"", result(rows)}}, {Baseline::make("deepbench-v100", {rows.begin(), rows.end()})},
      {.sort = "time"});
  std::size_t heads = 0;
  for (const std::string& line : split(text, '\n'))
    heads += RE2::PartialMatch(line, "^(benchmark|problem) .* time( |$)") ? 1 : 0;
  EXPECT_EQ(heads, 1u) << text;
  EXPECT_LT(text.find("1.00 ms"), text.find("2.00 ms")) << text;
  EXPECT_LT(text.find("2.00 ms"), text.find("3.00 ms")) << text;
}

TEST(RowTable, WithoutTheColumnOfASystemItsRatioIsCited) {
  json object = row("ok", 1e-3), other = row("ok", 2e-3);
  other["published"] = true;
  other["citation"] = "A paper, its table 4";
  const std::string text =
      render_table({{"", result({object})}}, {Baseline::make("other", {other})},
                   {.columns = {"problem", "speedup"}});
  EXPECT_TRUE(has(text, "A paper, its table 4")) << text;
}

TEST(RowTable, ATableThatCannotFitSaysSo) {
  std::vector<json> rows;
  for (const char* name : {"a", "b"})
    rows.push_back(row("ok", 1e-3, 0, {{"kind", std::string(130, *name)}}));
  const std::string text = table(rows);
  EXPECT_FALSE(has(text, "to fit 120")) << text;
  EXPECT_TRUE(has(text, "Not shown, to be less wide: ")) << text;
}

TEST(RowTable, AParameterMayBeCalledLikeANumber) {
  json object = row("ok", 2e-3, 0, {{"rate", "0.1"}});
  const std::string rate = table({object}, {.columns = {"problem", "rate"}});
  EXPECT_TRUE(has(rate, "500 GFLOP/s")) << rate;
  EXPECT_FALSE(RE2::PartialMatch(rate, R"(\n.*0\.1 .*GFLOP)")) << rate;
  const std::string both = table({object}, {.columns = {"parameters.rate", "rate"}});
  EXPECT_TRUE(RE2::PartialMatch(both, R"(\nparameters\.rate +rate\n)")) << both;
  EXPECT_TRUE(RE2::PartialMatch(both, R"(\n0\.1 +500 GFLOP/s\n)")) << both;
}

TEST(RowTable, WrongElementsAreAColumnWhereThereAreAny) {
  json good = row("ok", 2e-3), bad = row("incorrect", 0, 0, {{"precision", "bf16"}});
  EXPECT_FALSE(has(table({good}), "wrong"));
  EXPECT_TRUE(
      RE2::PartialMatch(table({good}, {.columns = {"time", "wrong"}}), R"(\n2\.00 ms +0\n)"));
  bad["verification"]["wrong"] = 12;
  const std::string text = table({good, bad});
  EXPECT_TRUE(has(text, "wrong") && has(text, "12")) << text;
}

TEST(RowTable, AbsolutesNeedARatio) {
  EXPECT_THROW(table({row("ok", 1e-3)}, {.absolutes = true}), InputError);
}

TEST(RowTable, ColumnsOnDemand) {
  const std::string text = table({row("ok", 1e-3), row("ok", 2e-3, 0, {{"precision", "bf16"}})},
                                 {.columns = {"time", "threads", "rate"}});
  EXPECT_TRUE(RE2::PartialMatch(text, R"(\n +time +threads +rate\n)")) << text;
  EXPECT_TRUE(RE2::PartialMatch(text, R"(\n2\.00 ms +2 +500 GFLOP/s\n)")) << text;
  try {
    table({row("ok", 1e-3)}, {.columns = {"treads"}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(has(error.what(), "'threads'")) << error.what();
  }
  const std::string by = table({row("ok", 1e-3), row("ok", 2e-3, 0, {{"cache", "cold"}})},
                               {.by = "cache", .columns = {"threads"}});
  EXPECT_TRUE(RE2::PartialMatch(by, R"(problem +threads +cold +hot )")) << by;
  EXPECT_THROW(table({row("ok", 1e-3)}, {.by = "cache", .columns = {"time"}}), InputError);
}

TEST(RowTable, FootersAreThoseOfTheBenchmark) {
  const std::string conv = table({row("ok", 1e-3)});
  EXPECT_TRUE(has(conv, "nominal operations")) << conv;
  EXPECT_FALSE(has(conv, "busbw") || has(conv, "alpha")) << conv;
  std::vector<json> sizes;
  for (const double size : {1e3, 1e5, 1e7}) {
    sizes.push_back(collective(size, 1e-6 + size * 1e-10));
    sizes.back()["rates"]["algbw"] = size / sizes.back()["time_s"]["median"].get<double>();
  }
  const std::string collectives = table(sizes);
  EXPECT_FALSE(has(collectives, "nominal operations")) << collectives;
  EXPECT_TRUE(has(collectives, "nccl-tests")) << collectives;
  EXPECT_TRUE(has(line_with(collectives, "problem"), "algbw")) << collectives;
  EXPECT_TRUE(has(line_with(collectives, "problem"), "busbw")) << collectives;
  json stream = row("ok", 1e-3);
  stream["rates"] = {{"bytes_per_s", 2e9}, {"flops_per_s", 1e8}};
  const std::string bytes = table({stream});
  EXPECT_TRUE(has(bytes, "2.00 GB/s") && has(bytes, "rate in B/s")) << bytes;
  EXPECT_FALSE(has(bytes, "nominal operations")) << bytes;
}

TEST(RowTable, ARatioHasTheMarkOfItsWorseSide) {
  const json quiet = row("ok", 2e-3);
  json busy = quiet;
  busy["time_s"]["stolen"] = 0.5;
  const auto beside = [](const json& mine, const json& theirs) {
    return render_table({{"", result({mine})}}, {Baseline::make("other", {theirs})}, {});
  };
  EXPECT_TRUE(line_with(beside(quiet, quiet), "list/first").ends_with(" 1"));
  EXPECT_TRUE(line_with(beside(busy, quiet), "list/first").ends_with(" 1!"));
  EXPECT_TRUE(line_with(beside(quiet, busy), "list/first").ends_with(" 1!"));
  EXPECT_TRUE(has(beside(quiet, busy), "2.00 ms!")) << beside(quiet, busy);
  json narrow = row("ok", 1e-3, 0, {{"threads", "4"}});
  const auto by = [&](const json& wide) { return table({wide, narrow}, {.by = "threads"}); };
  EXPECT_TRUE(RE2::PartialMatch(by(quiet), R"(1\.00 ms +2\n)")) << by(quiet);
  EXPECT_TRUE(RE2::PartialMatch(by(busy), R"(1\.00 ms +2!\n)")) << by(busy);
  const std::string crossed =
      render_table({{"", result({busy})}}, {Baseline::make("other", {quiet})}, {.by = "precision"});
  EXPECT_TRUE(has(crossed, "1.00x!\n")) << crossed;
}

}  // namespace test_row_table
