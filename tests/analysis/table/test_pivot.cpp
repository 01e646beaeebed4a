// `assay table --by`: on a terminal as narrow as it can be, with every number.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"
#include "tests/patterns.hpp"
#include "tests/support/rows.hpp"

namespace test_pivot {

using namespace assay;
using nlohmann::json;
using test::has;
using test::result;
using test::row;

std::string table(std::vector<json> rows, TableOptions options) {
  return render_table({{"", result(std::move(rows))}}, {}, options);
}

std::size_t width(const std::string& text) {
  std::size_t most = 0;
  for (const std::string& line : split(text, '\n')) most = std::max(most, count_columns(line));
  return most;
}

json set_work(json changed, const std::string& benchmark, const std::string& problem) {
  changed["benchmark"] = benchmark;
  changed["id"] = benchmark + "/" + problem + changed["id"].get<std::string>();
  changed["names"] = {problem};
  changed["problem"]["descriptor"] = problem;
  return changed;
}

const std::string long_name(26, 'p');

/// Convolutions of four backends, products of two, and networks of which onednn lacks one.
std::vector<json> of_three_benchmarks() {
  std::vector<json> rows;
  double seconds = 1e-3;
  for (const char* backend : {"onednn", "native", "reference", "simulated"})
    for (const char* direction : {"forward", "bwd_weights"})
      rows.push_back(
          set_work(row("ok", seconds *= 2, 0, {{"backend", backend}, {"direction", direction}}),
                   "conv", long_name));
  for (const char* backend : {"onednn", "blas"})
    rows.push_back(set_work(row("ok", 1e-6, 0, {{"backend", backend}}), "gemm", "m9"));
  rows.push_back(
      set_work(row("ok", 3e-6, 0, {{"backend", "native"}, {"input", "skip"}}), "rnn", "lstm"));
  rows.push_back(set_work(row("unsupported", 0, 0, {{"backend", "onednn"}, {"input", "skip"}}),
                          "rnn", "gone"));
  return rows;
}

TEST(Pivot, ATableForEachBenchmarkWhereOneIsTooWide) {
  const TableOptions by_backend{.by = "backend"};
  const std::string text = table(of_three_benchmarks(), by_backend);
  EXPECT_LE(width(text), table_width) << text;
  // Properties that all rows share are told once, those of a benchmark above its table.
  EXPECT_TRUE(has(text, "\nall rows: ")) << text;
  EXPECT_TRUE(RE2::PartialMatch(text, "\ngemm: direction forward\nproblem +")) << text;
  EXPECT_TRUE(has(text, "\nrnn: direction forward, input skip\n")) << text;
  EXPECT_TRUE(RE2::PartialMatch(text, "\nproblem +blas +onednn +onednn over blas\n")) << text;
  EXPECT_TRUE(RE2::PartialMatch(text, "\nproblem +native\n-.*\nlstm +3\\.00 µs\n")) << text;
  // Ratios, their explanation, and the folded rows are those of the whole table.
  EXPECT_TRUE(RE2::PartialMatch(text, "\nm9 +1\\.00 µs +1\\.00 µs +1\n")) << text;
  EXPECT_TRUE(has(text, "speedup: x over y, above 1 x is faster.")) << text;
  EXPECT_TRUE(has(text, "\n1 unsupported row not shown [1]\n")) << text;
  EXPECT_TRUE(has(text, "\n11 ok, 1 unsupported\n")) << text;
  // Other formats, and who chose the columns or an order, get one table.
  for (const TableOptions& whole : {TableOptions{.markdown = true, .by = "backend"},
                                    TableOptions{.by = "backend", .columns = {"direction"}},
                                    TableOptions{.by = "backend", .sort = "time"}})
    EXPECT_TRUE(RE2::PartialMatch(table(of_three_benchmarks(), whole), "(^|\n)(\\| )?benchmark"))
        << table(of_three_benchmarks(), whole);
  // A table that fits is not taken apart.
  EXPECT_TRUE(
      has(table({set_work(row("ok", 1e-3), "conv", "c"), set_work(row("ok", 1e-3), "gemm", "g")},
                by_backend),
          "\nbenchmark  problem"));
}

TEST(Pivot, RunsOfOneSystemAreCalledByWhatDiffersInTheirNames) {
  const auto heads = [](const std::vector<std::string>& names) {
    std::vector<NamedResult> runs;
    for (const std::string& name : names) runs.push_back({name, result({row("ok", 1e-3)})});
    const std::string text = render_table(runs, {}, {.by = "system"});
    EXPECT_TRUE(has(text, "\n" + names.back() + ": system ")) << text;  // it stands here
    for (const std::string& line : split(text, '\n'))
      if (line.starts_with("problem ")) return replaced(line, " +", " ");
    return text;
  };
  EXPECT_EQ(heads({"weekly/11-12/result.json", "weekly/11-19/result.json"}),
            "problem 11-12 11-19 11-19 over 11-12");
  EXPECT_EQ(heads({"results/ab", "results/m2"}), "problem ab m2 m2 over ab");
  EXPECT_EQ(heads({"a", "b"}), "problem a b b over a");
  // A folder is dropped whole or not at all, and something is left.
  EXPECT_EQ(heads({"new1", "new2"}), "problem new1 new2 new2 over new1");
  EXPECT_EQ(heads({"x/y/r.json", "x/r.json"}), "problem y/r.json r.json r.json over y/r.json");
}

/// A run whose launcher gave each row the cores that it needs, as `assay run` starts mpirun.
std::string by_threads(const std::string& first, const std::string& second) {
  json changed =
      result({row("ok", 4e-3, 0, {{"threads", "1"}}), row("ok", 2e-3, 0, {{"threads", "2"}})});
  changed["environments"] = json::array();
  for (const std::string& mapping : {first, second})
    changed["environments"].push_back(
        {{"host", "h"},
         {"hardware", {{"processor", "p"}}},
         {"software", {{"switches", {{"OMPI_MCA_rmaps_base_mapping_policy", mapping}}}}},
         {"volatile", json::object()},
         {"hashes", {{"hardware", "a"}, {"software", mapping}}}});
  changed["rows"][1]["environment"] = 1;
  return render_table({{"", changed}}, {}, {.by = "threads"});
}

TEST(Pivot, WhatTheLauncherWasAskedForDoesNotPartNumbersOfThreads) {
  const std::string text = by_threads("ppr:1:node:PE=1", "ppr:1:node:PE=2");
  EXPECT_TRUE(RE2::PartialMatch(text, "\nlist/first +4\\.00 ms +2\\.00 ms +2\n")) << text;
  // Another place is more than another number.
  const std::string apart = by_threads("ppr:1:node:PE=1", "ppr:1:socket:PE=2");
  EXPECT_TRUE(RE2::PartialMatch(apart, "\nlist/first +4\\.00 ms +- +-\n")) << apart;
}

TEST(Pivot, ATableThatIsTooWideHasShortTitlesAndProblemsAboveTheirRows) {
  std::vector<json> rows = of_three_benchmarks();
  std::erase_if(rows, [](const json& changed) { return changed["benchmark"] != "conv"; });
  const std::string narrow = table(rows, {.by = "backend"});
  EXPECT_LE(width(narrow), table_width) << narrow;
  EXPECT_FALSE(has(narrow, "onednn over native")) << narrow;
  EXPECT_TRUE(RE2::PartialMatch(narrow, "onednn +over native +reference +over native")) << narrow;
  // A further parameter leaves no room for the column of the problems.
  std::vector<json> many;
  for (const json& changed : rows)
    for (const char* cache : {"hot", "cold"}) {
      many.push_back(changed);
      many.back()["parameters"]["cache"] = cache;
      many.back()["parameters"]["a_longer_name"] = cache + std::string(" and more");
      many.back()["id"] = many.back()["id"].get<std::string>() + cache;
    }
  const std::string headed = table(many, {.by = "backend"});
  EXPECT_LE(width(headed), table_width) << headed;
  EXPECT_TRUE(has(headed, "\n" + long_name + "\n")) << headed;
  EXPECT_TRUE(RE2::PartialMatch(headed, "\ndirection +a_longer_name +cache +native")) << headed;
}

}  // namespace test_pivot
