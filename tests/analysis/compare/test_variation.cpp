// The sides of one result, chosen by values of parameters.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "analysis/compare/comparable.hpp"
#include "analysis/compare/side.hpp"
#include "analysis/compare/variation.hpp"
#include "core/base/error.hpp"
#include "tests/analysis/compare/compare_data.hpp"

namespace assay {
namespace test_variation {

/// A row with an id form, as `assay run` writes it.
Row measured(const std::string& backend, const std::string& algorithm, int threads,
             const std::string& layout = "any") {
  Row row;
  row.benchmark = "conv";
  row.problem.descriptor = "mb1";
  row.parameters = {{"backend", backend},
                    {"algorithm", algorithm},
                    {"threads", threads},
                    {"layout", layout},
                    {"cache", "hot"}};
  row.system_parameters = {"algorithm", "backend", "layout", "threads"};
  row.id_form = "conv/{backend}/{algorithm}/{problem}/{cache}/t{threads}[/layout=any][/file]";
  row.id = fmt::format("conv/{}/{}/mb1/hot/t{}{}", backend, algorithm, threads,
                       layout == "any" ? "" : "/layout=" + layout);
  row.status = "ok";
  row.time_s = RowTime{.median = 1};
  row.samples_s = {1};
  return row;
}

std::vector<NamedResult> results_of(std::vector<Row> rows) {
  NamedResult named;
  named.result.environments.emplace_back();
  named.result.rows = std::move(rows);
  return {named};
}

const std::vector<Row> all_rows{measured("onednn", "auto", 1), measured("onednn", "auto", 2),
                                measured("onednn", "direct", 1), measured("native", "auto", 1),
                                measured("native", "auto", 2, "nhwc")};

Variation vary(const std::vector<std::string>& base, const std::vector<std::string>& updated) {
  return find_variation({"--base", base}, {"--new", updated}, results_of(all_rows));
}

std::string refusal(const std::vector<std::string>& base, const std::vector<std::string>& updated) {
  try {
    vary(base, updated);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::vector<std::string> keys(const std::vector<std::string>& selection, const Variation& by) {
  const Side side("s", select_rows(results_of(all_rows), {"--base", selection}), by);
  std::vector<std::string> found;
  for (const auto& [key, row] : side.rows()) found.push_back(key);
  return found;
}

using Texts = std::vector<std::string>;

TEST(Variation, PairsRowsThatAreEqualButForTheChosenParameters) {
  const Variation backend = vary({"backend=onednn"}, {"backend=native"});
  EXPECT_EQ(backend.name, "backend");
  EXPECT_EQ(backend.parameters, Texts{"backend"});
  EXPECT_TRUE(backend.other_libraries);
  EXPECT_EQ(backend.note, "");
  EXPECT_EQ(
      keys({"backend=onednn"}, backend),
      (Texts{"conv/*/auto/mb1/hot/t1", "conv/*/auto/mb1/hot/t2", "conv/*/direct/mb1/hot/t1"}));
  EXPECT_EQ(keys({"backend=native"}, backend),
            (Texts{"conv/*/auto/mb1/hot/t1", "conv/*/auto/mb1/hot/t2/layout=nhwc"}));
  // A value with a prefix in the id, and one that the id may omit.
  const Variation threads = vary({"threads=1"}, {"threads=2", "layout=nhwc"});
  EXPECT_EQ(threads.parameters, (Texts{"layout", "threads"}));
  EXPECT_EQ(keys({"threads=2", "layout=nhwc"}, threads), Texts{"conv/native/auto/mb1/hot/t*"});
  EXPECT_EQ(keys({"threads=1", "backend=native"}, threads), Texts{"conv/native/auto/mb1/hot/t*"});
}

TEST(Variation, AValueThatBothSidesHaveIsNotVaried) {
  const Variation by = vary({"backend=onednn", "threads=1"}, {"backend=native", "threads=1"});
  EXPECT_EQ(by.parameters, Texts{"backend"});
  EXPECT_EQ(keys({"backend=onednn", "threads=1"}, by).front(), "conv/*/auto/mb1/hot/t1");
}

TEST(Variation, ADimensionOfTheWorkIsTold) {
  std::vector<Row> rows{measured("a", "auto", 1), measured("a", "auto", 1)};
  rows[1].parameters["cache"] = "cold";
  rows[1].id = "conv/a/auto/mb1/cold/t1";
  const Variation by =
      find_variation({"--base", {"cache=hot"}}, {"--new", {"cache=cold"}}, results_of(rows));
  EXPECT_FALSE(by.other_libraries);
  EXPECT_NE(by.note.find("cache is part of the work"), std::string::npos) << by.note;
}

TEST(Variation, RanksThatShareAProblemAreNotPartOfTheWork) {
  std::vector<Row> rows{measured("a", "auto", 1), measured("a", "auto", 1)};
  for (int i = 0; i < 2; ++i) {
    rows[i].parameters["ranks"] = i + 1;
    rows[i].id = fmt::format("conv/a/auto/mb1/hot/t1/r{}", i + 1);
    rows[i].problem.shared_by = i + 1;
  }
  const auto vary_ranks = [&] {
    return find_variation({"--base", {"ranks=1"}}, {"--new", {"ranks=2"}}, results_of(rows));
  };
  EXPECT_EQ(vary_ranks().note, "");
  EXPECT_TRUE(vary_ranks().other_libraries);
  rows[1].problem.shared_by = 1;  // each has its own
  EXPECT_NE(vary_ranks().note.find("ranks is part of the work"), std::string::npos);
}

/// The first suggestion for sides by backend, as "base | new: rows"; "" if there is none.
std::string more_pairs(const std::vector<Row>& rows) {
  const auto results = results_of(rows);
  const Selection base("--base", {"backend=onednn"}), updated("--new", {"backend=native"});
  const Variation by = find_variation(base, updated, results);
  const Side was("b", select_rows(results, base), by), is("n", select_rows(results, updated), by);
  const auto more = find_more_pairs(was, is, by);
  return more.empty() ? ""
                      : fmt::format("{} | {}: {}", fmt::join(more.front().base, ","),
                                    fmt::join(more.front().updated, ","), more.front().rows);
}

TEST(Variation, TellsByWhichValuesMoreRowsWouldBePaired) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& backend, const std::string& algorithm, int problem) {
    rows.push_back(measured(backend, algorithm, 1));
    rows.back().problem.descriptor = fmt::format("mb{}", problem);
    rows.back().id = fmt::format("conv/{}/{}/mb{}/hot/t1", backend, algorithm, problem);
  };
  add("onednn", "auto", 1);
  add("native", "auto", 1);
  EXPECT_EQ(more_pairs(rows), "");
  for (int problem = 1; problem < 4; ++problem) {
    add("onednn", "direct", problem);
    add("native", "winograd", problem);
  }
  add("native", "implicit_gemm", 2);
  EXPECT_EQ(more_pairs(rows), "algorithm=direct | algorithm=winograd: 3");
  // Rows are counted: two numbers of threads of equal work are two.
  std::vector<Row> wider = rows;
  for (Row& row : rows)
    if (row.parameter("algorithm") != "auto") {
      wider.push_back(row);
      wider.back().parameters["threads"] = 2;
      wider.back().id = row.id.substr(0, row.id.size() - 1) + "2";
    }
  EXPECT_EQ(more_pairs(wider), "algorithm=direct | algorithm=winograd: 6");
  // No row for another work, or without a number.
  for (Row& row : rows)
    if (row.parameter("algorithm") == "winograd" && row.problem.descriptor != "mb1")
      row.parameters["cache"] = "cold";
  EXPECT_EQ(more_pairs(rows), "");
  for (Row& row : rows) row.parameters["cache"] = "hot";
  for (Row& row : rows)
    if (row.parameter("algorithm") == "winograd" && row.problem.descriptor != "mb1")
      row.status = "unsupported";
  EXPECT_EQ(more_pairs(rows), "");
}

TEST(Variation, WrongSelectionsAreRefusedWithTheKnownValues) {
  const auto expect = [](const std::string& message, const Texts& parts) {
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  expect(refusal({"backnd=onednn"}, {"backend=native"}),
         {"unknown parameter of --base 'backnd'", "backend, cache", "Did you mean 'backend'?"});
  expect(refusal({"backend=onednn"}, {"backend=mine"}),
         {"unknown value of backend in --new 'mine'", "native, onednn"});
  expect(refusal({"backend=onednn"}, {"backend=onednn"}), {"--base and --new both choose"});
  expect(refusal({"backend=onednn"}, {"backend=native", "algorithm=direct"}),
         {"--new algorithm=direct,backend=native", "no row has these values together"});
  for (const char* text : {"backend", "=onednn", "backend="})
    expect(refusal({text}, {"backend=native"}), {"--base", "NAME=VALUE"});
  expect(refusal({"threads=1", "threads=2"}, {"backend=native"}), {"threads twice"});
}

TEST(Variation, TheFilterIsThatOfTables) {
  const auto kept = filter_rows(results_of(all_rows), {"algorithm!=direct", "threads=1"});
  ASSERT_EQ(kept.front().rows().size(), 2U);
  EXPECT_EQ(filter_rows(results_of(all_rows), {}).front().rows().size(), all_rows.size());
  EXPECT_THROW(filter_rows(results_of(all_rows), {"algorithm=none"}), InputError);
}

}  // namespace test_variation
}  // namespace assay
