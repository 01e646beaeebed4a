// The fit against statsmodels' numbers (tests/support/make_model_golden.py), to 1e-9 relative.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "assay/test_paths.hpp"
#include "core/result/schema.hpp"
#include "model_data.hpp"

namespace assay::test {
namespace test_model_golden {

using nlohmann::json;

const std::filesystem::path folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/model";

void expect_near(const json& mine, const json& theirs, const std::string& what) {
  ASSERT_TRUE(mine.is_number()) << what;
  const double expected = theirs;
  EXPECT_NEAR(mine.get<double>(), expected, 1e-9 * std::fabs(expected)) << what;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Agrees) {
  const json golden = read_json(folder / (GetParam() + ".json"));
  const json& expected = golden.at("expected");
  ModelOptions options;
  options.cluster = golden.at("cluster");
  for (const json& prediction : expected.at("predictions")) {
    std::map<std::string, std::string> inputs;
    for (const auto& [column, value] : prediction.at("given").items())
      inputs[column] = value.is_string() ? value.get<std::string>() : value.dump();
    options.predictions.push_back(inputs);
  }
  const json document = model_of(golden.at("rows"), golden.at("formula"), options);
  EXPECT_TRUE(find_schema_errors(document, "model", "golden").empty());

  ASSERT_EQ(document.at("coefficients").size(), expected.at("coefficients").size());
  for (const json& theirs : expected.at("coefficients")) {
    const std::string term = theirs.at("term");
    const json* mine = coefficient_of(document, term);
    ASSERT_NE(mine, nullptr) << term;
    for (const char* field : {"estimate", "se", "t"})
      expect_near(mine->at(field), theirs.at(field), term + " " + field);
    if (theirs.at("p").get<double>() > 1e-290)
      expect_near(mine->at("p"), theirs.at("p"), term + " p");
    for (const std::size_t end : {0U, 1U}) {
      // An end beside zero is a difference of numbers of the estimate's size.
      const double size = std::fabs(theirs.at("estimate").get<double>());
      EXPECT_NEAR(mine->at("interval")[end].get<double>(), theirs.at("interval")[end].get<double>(),
                  1e-9 * size)
          << term;
    }
  }
  std::set<std::string> mine, theirs;
  for (const json& alias : document.at("aliased")) mine.insert(alias.at("term"));
  for (const json& term : expected.at("aliased")) theirs.insert(term);
  EXPECT_EQ(mine, theirs);

  for (const char* field : {"r2", "adjusted_r2", "sigma"})
    expect_near(document.at(field), expected.at(field), field);
  EXPECT_EQ(document.at("df"), expected.at("df"));
  for (const char* field : {"value", "df1", "df2", "p"})
    expect_near(document.at("f").at(field), expected.at("f").at(field), field);
  ASSERT_EQ(document.at("observations").size(), expected.at("residuals").size());
  // The results have the rows by system, and the golden data come sorted so.
  for (std::size_t i = 0; i < expected.at("residuals").size(); ++i) {
    EXPECT_NEAR(document["observations"][i]["residual"].get<double>(),
                expected["residuals"][i].get<double>(), 1e-9);
    EXPECT_NEAR(document["observations"][i]["leverage"].get<double>(),
                expected["leverage"][i].get<double>(), 1e-9);
  }
  for (std::size_t i = 0; i < expected.at("predictions").size(); ++i) {
    const json &mine = document["predictions"][i], &theirs = expected["predictions"][i];
    expect_near(mine.at("value"), theirs.at("value"), "prediction");
    expect_near(mine.at("interval")[0], theirs.at("interval")[0], "prediction, low");
    expect_near(mine.at("interval")[1], theirs.at("interval")[1], "prediction, high");
  }
}

std::vector<std::string> golden_names() { return list_json_names(folder); }

INSTANTIATE_TEST_SUITE_P(Model, Golden, testing::ValuesIn(golden_names()),
                         [](const auto& info) { return info.param; });

TEST(ModelGolden, AllKindsAreThere) {
  for (const char* name : {"power", "deficient", "generated", "clustered", "by_problem"}) {
    const auto names = golden_names();
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

}  // namespace test_model_golden
}  // namespace assay::test
