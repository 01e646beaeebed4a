// The time of a whole is the sum over its problems, each as often as the whole has it, and no
// number at all where one is missing.
#include "analysis/table/below_rows.hpp"

#include <gtest/gtest.h>

#include "analysis/table/table.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace test_totals {

using namespace assay;
using nlohmann::json;

/// A row of problem `name`, which the whole of four has `repeat` times.
json part(const std::string& name, int repeat, double seconds, const std::string& status = "ok",
          Settings more = {}, int launch = 0) {
  more["problem"] = name;
  json row = test::row(status, seconds, launch, more);
  row["problem"]["descriptor"] = name;
  row["names"] = {"net/" + name};
  row["part_of"] = std::vector<ListShare>{{"net", "the four of Net", repeat, 4}};
  return row;
}

std::vector<Total> totals(std::vector<json> rows) {
  static std::vector<Series> all;  // the totals point to it
  all = make_series({{"", test::result(std::move(rows))}});
  return make_totals(all);
}

TEST(Totals, CountEachProblemAsOftenAsTheWholeHasIt) {
  const std::vector<Total> all = totals({part("p", 3, 1e-3), part("q", 1, 5e-3)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].why, "");
  EXPECT_NEAR(all[0].seconds, 8e-3, 1e-12);
  EXPECT_DOUBLE_EQ(all[0].flops, 4e9);
  EXPECT_EQ(all[0].mark, "");
}

TEST(Totals, OfLaunchesTheMedianCounts) {
  const std::vector<Total> all = totals(
      {part("p", 4, 1e-3), part("p", 4, 2e-3, "ok", {}, 1), part("p", 4, 9e-3, "ok", {}, 2)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].seconds, 8e-3, 1e-12);
}

TEST(Totals, EachSettingHasItsOwn) {
  const std::vector<Total> all =
      totals({part("p", 4, 1e-3), part("p", 4, 3e-3, "ok", {{"precision", "bf16"}})});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0].any->parameter("precision"), all[1].any->parameter("precision"));
  EXPECT_NEAR(all[0].seconds + all[1].seconds, 16e-3, 1e-12);
}

TEST(Totals, WithheldWhereARowIsNotOk) {
  for (const char* status : {"unsupported", "incorrect", "failed", "timeout"}) {
    const std::vector<Total> all = totals({part("p", 3, 1e-3), part("q", 1, 5e-3, status)});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].why, std::string("net/q is ") + status);
  }
  const std::vector<Total> none =
      totals({part("p", 3, 1e-3, "failed"), part("q", 1, 5e-3, "timeout")});
  EXPECT_EQ(none.at(0).why, "net/p is failed, and 1 more are not ok");
}

TEST(Totals, WithheldWhereAProblemIsMissing) {
  const std::vector<Total> all = totals({part("p", 3, 1e-3)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].why, "3 of 4 are here");
}

TEST(Totals, ATableShowsThem) {
  const auto shown = [](std::vector<json> rows, const std::string& by = "") {
    const json result = test::result(std::move(rows));
    EXPECT_TRUE(find_schema_errors(result, "result", "x").empty());
    std::string text;
    for (const std::string& line : split(render_table({{"", result}}, {}, {.by = by}), '\n'))
      if (line.find("net: the four of Net") != std::string::npos) text += line;
    return text;
  };
  json busy = part("q", 1, 5e-3);
  busy["time_s"]["waiting"] = 0.5;
  const std::string good = shown({part("p", 3, 1e-3), busy});
  EXPECT_NE(good.find("8.00 ms!"), std::string::npos) << good;
  EXPECT_NE(good.find("500 GFLOP/s!"), std::string::npos) << good;
  const std::string bad = shown({part("p", 3, 1e-3), part("q", 1, 5e-3, "incorrect")});
  EXPECT_NE(bad.find("withheld: net/q is incorrect"), std::string::npos) << bad;
  EXPECT_EQ(bad.find(" ms"), std::string::npos) << bad;
  const std::string two =
      shown({part("p", 4, 1e-3), part("p", 4, 3e-3, "ok", {{"precision", "bf16"}})}, "precision");
  EXPECT_NE(two.find("4.00 ms"), std::string::npos) << two;
  EXPECT_NE(two.find("12.0 ms"), std::string::npos) << two;
  EXPECT_EQ(shown({test::row("ok", 1)}), "");
}

}  // namespace test_totals
