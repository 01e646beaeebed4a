#include "analysis/series.hpp"

#include <gtest/gtest.h>

#include "rows.hpp"

namespace {

using namespace assay;
using nlohmann::json;

/// The problems of rows without names, as series_of orders them.
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
  for (const Series& series : series_of(results)) found.push_back(series.problem());
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

}  // namespace
