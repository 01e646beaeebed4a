// Rows are chosen and ordered by what they are.
#include "analysis/table/table.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace test_selection {

using namespace assay;
using nlohmann::json;
using test::row;

const std::vector<NamedResult>& results() {
  static const std::vector<NamedResult> all{
      {"", test::result({row("ok", 3e-3), row("ok", 1e-3, 0, {{"precision", "bf16"}}),
                         row("ok", 2e-3, 0, {{"algorithm", "winograd"}, {"threads", "16"}}),
                         row("failed", 0, 0, {{"cache", "cold"}, {"threads", "4"}})})}};
  return all;
}

/// Precision, algorithm asked for, cache and threads of each.
std::string told(const std::vector<Series>& all) {
  std::string text;
  for (const Series& series : all)
    text += series.parameter("precision") + "/" + series.parameter("algorithm") + "/" +
            series.parameter("cache") + "/" + series.parameter("threads") + " ";
  return text;
}

std::string shown(const std::vector<std::string>& clauses) {
  return told(filter_series(results(), make_series(results()), clauses));
}

std::string sorted(const std::string& order) {
  std::vector<Series> all = make_series(results());
  sort_by(results(), all, order);
  return told(all);
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Filter, EveryClauseHolds) {
  EXPECT_EQ(shown({"precision=bf16"}), "bf16/direct/hot/2 ");
  EXPECT_EQ(shown({"precision=fp32", "algorithm=wino.*"}), "fp32/winograd/hot/16 ");
  EXPECT_EQ(shown({"status!=ok"}), "fp32/direct/cold/4 ");
  EXPECT_EQ(shown({"precision!=fp32|tf32"}), "bf16/direct/hot/2 ");
  EXPECT_EQ(shown({"cold"}), "fp32/direct/cold/4 ");           // in the id
  EXPECT_EQ(shown({"t/firs", "bf16"}), "bf16/direct/hot/2 ");  // and in the problem's name
  EXPECT_EQ(shown({"problem=list/.*", "benchmark=conv", "threads=4"}), "fp32/direct/cold/4 ");
}

TEST(Filter, ThePatternIsHeldAgainstTheWholeValue) {
  EXPECT_EQ(shown({"threads=16|2", "cache=hot", "precision=fp32"}),
            "fp32/direct/hot/2 fp32/winograd/hot/16 ");
  EXPECT_NE(refusal([] { shown({"threads=6"}); }).find("no row matches"), std::string::npos);
}

TEST(Filter, WrongKeysAndPatternsAreRefused) {
  EXPECT_NE(refusal([] { shown({"precison=fp32"}); }).find("'precision'"), std::string::npos);
  EXPECT_NE(refusal([] { shown({"precision=("}); }).find("--filter 'precision=('"),
            std::string::npos);
}

TEST(Sort, NumbersAreInTheirOrderAndWhatHasNoneIsLast) {
  EXPECT_EQ(sorted("time"),
            "bf16/direct/hot/2 fp32/winograd/hot/16 fp32/direct/hot/2 fp32/direct/cold/4 ");
  EXPECT_EQ(sorted("time:desc"),
            "fp32/direct/hot/2 fp32/winograd/hot/16 bf16/direct/hot/2 fp32/direct/cold/4 ");
  EXPECT_EQ(sorted("rate:desc"), sorted("time"));  // of equal work
  EXPECT_TRUE(sorted("threads:desc").starts_with("fp32/winograd/hot/16 fp32/direct/cold/4 "))
      << sorted("threads:desc");
  EXPECT_TRUE(sorted("cache").starts_with("fp32/direct/cold/4 ")) << sorted("cache");
  EXPECT_EQ(sorted(""), told(make_series(results())));
}

TEST(Sort, KeysAreNamedWhereParametersAreTooManyForAList) {
  nlohmann::json many;
  for (std::size_t i = 0; i < most_valid_names; ++i) many["p" + std::to_string(i)] = "1";
  const std::vector<NamedResult> rows{{"", test::result({row("ok", 1e-3, 0, many)})}};
  std::vector<Series> all = make_series(rows);
  EXPECT_EQ(refusal([&] { sort_by(rows, all, "speedup"); }),
            "unknown key of --sort 'speedup'. Keys are benchmark, problem, id, status, result, "
            "system, host, time, rate, error and the parameters of the rows.");
}

TEST(Sort, WrongKeysAreRefused) {
  EXPECT_NE(refusal([] { sorted("tim"); }).find("'time'"), std::string::npos);
  EXPECT_NE(refusal([] { sorted("time:down"); }).find("direction of --sort"), std::string::npos);
}

}  // namespace test_selection
