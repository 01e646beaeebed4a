// Validation of a model: what is left out is predicted as by a fit to all else.

#include <gtest/gtest.h>

#include <cmath>

#include "model_data.hpp"

namespace assay::test {
namespace test_validation {

using nlohmann::json;

/// Machines m0 to m6 with 1 to 7 rows: fewer and more than a model here has coefficients.
json machines() {
  json rows = json::array();
  for (int m = 0; m < 7; ++m)
    for (int i = 0; i <= m; ++i)
      rows.push_back({{"system", "m" + std::to_string(m)},
                      {"workload", std::string(1, static_cast<char>('a' + (i + m) % 3))},
                      {"size", 1.0 + (3 * i + m) % 5},
                      {"time", 1 + 0.37 * ((5 * i + 3 * m) % 7)}});
  return rows;
}

/// Compares the validation that leaves out machine `m` with the predictions of a fit to the others.
void expect_as_fitted(const json& rows, const std::string& formula,
                      const std::vector<std::string>& columns, int m) {
  json others = json::array();
  std::vector<double> times;
  ModelOptions options;
  for (const json& row : rows) {
    if (row["system"] != "m" + std::to_string(m)) {
      others.push_back(row);
      continue;
    }
    times.push_back(row["time"]);
    auto& inputs = options.predictions.emplace_back();
    for (const std::string& column : columns)
      inputs[column] =
          row[column].is_string() ? row[column].get<std::string>() : row[column].dump();
  }
  double squares = 0;
  const json fitted = model_of(others, formula, options);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double value = fitted["predictions"][i]["value"];
    squares +=
        std::pow(formula.starts_with("log") ? std::log(value / times[i]) : value - times[i], 2);
  }
  const double expected = std::sqrt(squares / static_cast<double>(times.size()));
  const json left_out = model_of(rows, formula)["validation"][static_cast<std::size_t>(m)];
  EXPECT_EQ(left_out["left_out"], "system=m" + std::to_string(m));
  EXPECT_NEAR(left_out["rms_error"].get<double>(), expected, 1e-11 * (1 + expected)) << left_out;
}

TEST(Validation, EachMachineIsPredictedAsByAFitToTheOthers) {
  for (int m = 0; m < 7; ++m) {
    expect_as_fitted(machines(), "log(time) ~ log(size) + workload", {"size", "workload"}, m);
    expect_as_fitted(machines(), "log2(time) ~ size", {"size"}, m);
  }
}

TEST(Validation, AMachineThatDeterminesACoefficientNearlyAloneIsPredictedByTheOthersToo) {
  json rows = machines();
  for (json& row : rows) row["x"] = row["size"].get<double>() * (row["system"] == "m6" ? 1e4 : 1);
  for (int m = 0; m < 7; ++m) expect_as_fitted(rows, "time ~ x", {"x"}, m);
}

TEST(Validation, TheOnlyRowsOfASizeAreNotPredicted) {
  // All that the others have is one size, so nothing but rounding is left of the bracket.
  for (int alone = 1; alone < 4; ++alone)
    for (int seed = 1; seed < 12; ++seed) {
      json rows = json::array();
      for (int i = 0; i < 3 + seed % 7; ++i)
        rows.push_back({{"system", "a" + std::to_string(i)},
                        {"size", 0.1 * (seed + 2)},
                        {"time", 1 + 0.37 * ((5 * i + seed) % 7)}});
      for (int i = 0; i < alone; ++i)
        rows.push_back({{"system", "last"}, {"size", 0.7 * (seed + 3)}, {"time", 2.0 + i}});
      const json all = model_of(rows, "log(time) ~ log(size)")["validation"];
      for (const json& left_out : all)
        if (left_out["left_out"] == "system=last") {
          EXPECT_EQ(left_out["reason"],
                    "only they determine a coefficient that their prediction needs")
              << left_out;
        }
    }
}

TEST(Validation, AMachineWithAColumnOfItsOwnIsNotPredicted) {
  const json all = model_of(machines(), "log(time) ~ system + log(size)")["validation"];
  for (std::size_t m = 0; m < 7; ++m)
    EXPECT_EQ(all[m]["reason"], "only they determine a coefficient that their prediction needs");
  // A coefficient that no column belongs to alone, but a difference of columns, is not determined
  // either.
  json rows = machines();
  for (json& row : rows) row["y"] = row["size"].get<double>() + (row["system"] == "m3" ? 1 : 0);
  const json sum = model_of(rows, "log(time) ~ size + y")["validation"];
  EXPECT_TRUE(sum[2]["rms_error"].is_number());
  EXPECT_EQ(sum[3]["reason"], "only they determine a coefficient that their prediction needs");
}

}  // namespace test_validation
}  // namespace assay::test
