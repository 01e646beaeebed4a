#include "analysis/series.hpp"

#include <gtest/gtest.h>

#include "rows.hpp"

namespace {

using namespace assay;
using nlohmann::json;

TEST(Series, OfSizesStandInTheirOrder) {
  std::vector<json> rows;
  for (const char* size : {"400000", "16777216", "4"}) {
    json row = test::row("ok", 1e-3, 0, {{"problem", size}});
    row["problem"]["descriptor"] = size;
    row["names"] = json::array();
    rows.push_back(row);
  }
  std::vector<std::string> found;
  const std::vector<NamedResult> results{{"", test::result(rows)}};
  for (const Series& series : series_of(results)) found.push_back(series.problem());
  EXPECT_EQ(found, (std::vector<std::string>{"4", "400000", "16777216"}));
}

TEST(Series, OfNamedProblemsStandInTheAlphabets) {
  std::vector<json> rows;
  for (const char* name : {"mb2ic3", "mb10ic3", "a"}) {
    json row = test::row("ok", 1e-3, 0, {{"problem", name}});
    row["problem"]["descriptor"] = name;
    row["names"] = json::array();
    rows.push_back(row);
  }
  std::vector<std::string> found;
  const std::vector<NamedResult> results{{"", test::result(rows)}};
  for (const Series& series : series_of(results)) found.push_back(series.problem());
  EXPECT_EQ(found, (std::vector<std::string>{"a", "mb10ic3", "mb2ic3"}));
}

}  // namespace
