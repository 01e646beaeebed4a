#include "analysis/series.hpp"

#include <gtest/gtest.h>

#include "tests/support/rows.hpp"

namespace test_series {

using namespace assay;
using nlohmann::json;

/// The problems of rows without names, as make_series orders them.
std::vector<std::string> ordered(const std::vector<std::string>& problems) {
  std::vector<json> rows;
  for (const std::string& problem : problems) {
    json row = test::row("ok", 1e-3, 0, {{"problem", problem}});
    row["problem"]["descriptor"] = problem;
    row["names"] = json::array();
    rows.push_back(row);
  }
  const std::vector<NamedResult> results{{"", test::result(rows)}};
  std::vector<std::string> found;
  for (const Series& series : make_series(results)) found.push_back(series.problem());
  return found;
}

TEST(Series, OfSizesStandInTheirOrder) {
  EXPECT_EQ(ordered({"400000", "16777216", "4"}),
            (std::vector<std::string>{"4", "400000", "16777216"}));
}

TEST(Series, OfNamedProblemsStandInTheAlphabets) {
  EXPECT_EQ(ordered({"mb2ic3", "mb10ic3", "a"}),
            (std::vector<std::string>{"a", "mb10ic3", "mb2ic3"}));
}

TEST(Series, HaveTheRowsOfTheResults) {
  std::vector<NamedResult> results{{"", test::result({test::row("ok", 1e-3)})}};
  const Row& row = results[0].rows()[0];
  const std::vector<Series> all = make_series(results), copies = all;
  EXPECT_EQ(&all[0].first(), &row);
  EXPECT_EQ(&copies[0].first(), &row) << "a fleet has too many rows to copy";
  Series changed = all[0];
  changed.rows.front().own().id = "another";
  EXPECT_EQ(changed.first().id, "another");
  EXPECT_NE(row.id, "another") << "a row is never changed for the others that have it";
  const std::vector<Series> own = make_series(std::move(results));
  EXPECT_NE(&own[0].first(), &row) << "the results are gone";
}

}  // namespace test_series
