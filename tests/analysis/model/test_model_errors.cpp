// The groups by which the errors of coefficients are clustered, and errors that are too small.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/result/schema.hpp"
#include "model_data.hpp"

namespace assay::test {
namespace test_model_errors {

using nlohmann::json;

/// `problems` problems of which each has an error of its own (`missed`), which all its launches
/// repeat but for 0.1 %.
json repeated(int problems, int launches, double missed) {
  json rows = json::array();
  for (int p = 0; p < problems; ++p)
    for (int launch = 0; launch < launches; ++launch)
      for (const char* algorithm : {"direct", "winograd"}) {
        const double flops = 1e6 * std::pow(10, p), off = missed * ((p * 3) % 5 - 2);
        const double noise = 0.001 * ((launch * 5 + p * 2 + algorithm[0]) % 7);
        rows.push_back(
            {{"system", "one"},
             {"id", std::to_string(p) + algorithm},
             {"problem", "p" + std::to_string(p)},
             {"launch", launch},
             {"flops", flops},
             {"family", p == 0 ? "lone" : "common"},
             {"algorithm", algorithm},
             {"time", 1e-9 * flops * (algorithm[0] == 'w' ? 0.5 : 1) * std::exp(off + noise)}});
      }
  return rows;
}

std::string notes(const json& document) {
  std::string text;
  for (const json& note : document.at("notes")) text += note.get<std::string>() + "\n";
  return text;
}

TEST(Model, LaunchesAreClustersWhereTheyGaveSeveralRows) {
  const json document = model_of(read_launch_info(8), "log(time) ~ system + workload");
  EXPECT_EQ(document.at("cluster"), json({{"by", "launch"}, {"groups", 16}, {"df", 15}}));
  ModelOptions none;
  none.cluster = "none";
  const json plain = model_of(read_launch_info(8), "log(time) ~ system + workload", none);
  EXPECT_TRUE(plain.at("cluster").is_null());
  EXPECT_EQ(number(plain, "system[new]", "estimate"), number(document, "system[new]", "estimate"));
  // A difference between launches alone is known less well than independent rows would have it.
  EXPECT_GT(number(document, "system[new]", "se"), number(plain, "system[new]", "se"));
  EXPECT_TRUE(model_of(sample(), "log(time) ~ workload").at("cluster").is_null());

  ModelOptions by_workload;
  by_workload.cluster = "workload";
  EXPECT_EQ(
      model_of(read_launch_info(8), "log(time) ~ system", by_workload).at("cluster").at("groups"),
      3);
  by_workload.cluster = "lauch";
  expect_says(refusal(read_launch_info(8), "log(time) ~ system", by_workload),
              "Did you mean 'launch'");
}

TEST(Model, TooFewLaunchesGiveNoErrors) {
  const json document = model_of(read_launch_info(1), "log(time) ~ system + workload");
  for (const json& coefficient : document.at("coefficients")) {
    EXPECT_TRUE(coefficient.at("se").is_null());
    expect_says(coefficient.at("reason"), "2 groups are too few for the errors of 2 coefficients");
  }
  EXPECT_TRUE(document.at("f").at("value").is_null());
  expect_says(notes(document), "use another --cluster");
  expect_says(notes(document), "`assay run SUITE --launches 5 --out DIR`");
  expect_says(refusal(read_launch_info(1), "log(time) ~ system * workload"),
              "`assay run SUITE --launches 5 --out DIR`");
  // One system with one launch: the sandwich would call its coefficient exact.
  json rows = json::array();
  for (json& row : read_launch_info(6))
    if (row["system"] == "base" || row["launch"] == 0) rows.push_back(row);
  ModelOptions options;
  options.predictions = {{{"system", "new"}, {"workload", "a"}}};
  const json lone = model_of(rows, "log(time) ~ system + workload", options);
  EXPECT_TRUE(coefficient_of(lone, "system[new]")->at("se").is_null());
  expect_says(coefficient_of(lone, "system[new]")->at("reason"), "a single group");
  EXPECT_TRUE(coefficient_of(lone, "workload[b]")->at("se").is_number());
  EXPECT_TRUE(lone["predictions"][0]["interval"].is_null());
  EXPECT_TRUE(find_schema_errors(lone, "model", "x").empty());
}

TEST(Model, ErrorsByLaunchAreTooSmallForWhatVariesOnlyBetweenProblems) {
  const std::string formula = "log(time) ~ log(flops) + algorithm";
  const ModelDocument fitted = fit_rows(repeated(6, 8, 0.1), formula);
  const json by_launch = fitted;
  EXPECT_EQ(by_launch.at("cluster").at("by"), "launch");
  expect_says(notes(by_launch), "ERRORS TOO SMALL for log(flops) (");
  expect_says(notes(by_launch), "between the 6 problems");
  expect_says(notes(by_launch), "--cluster problem");
  EXPECT_EQ(notes(by_launch).find("algorithm["), std::string::npos);
  expect_says(render_model(fitted, false), "ERRORS TOO SMALL");

  ModelOptions options;
  options.cluster = "problem";
  const json by_problem = model_of(repeated(6, 8, 0.1), formula, options);
  EXPECT_EQ(by_problem.at("cluster").at("groups"), 6);
  EXPECT_EQ(notes(by_problem).find("TOO SMALL"), std::string::npos);
  const double small = number(by_launch, "log(flops)", "se");
  EXPECT_GT(number(by_problem, "log(flops)", "se"), 10 * small);
  expect_says(notes(by_launch),
              fmt::format("by problem {:.2g})", number(by_problem, "log(flops)", "se")));
  EXPECT_EQ(number(by_problem, "log(flops)", "estimate"),
            number(by_launch, "log(flops)", "estimate"));
  // Every row for itself is no better.
  options.cluster = "none";
  expect_says(notes(model_of(repeated(6, 8, 0.1), formula, options)), "ERRORS TOO SMALL");
}

TEST(Model, NoWarningWhereLaunchesAreTheError) {
  // One launch each; published; and a model with a coefficient for every problem.
  EXPECT_EQ(notes(model_of(repeated(9, 1, 0.1), "log(time) ~ log(flops)")).find("TOO SMALL"),
            std::string::npos);
  json published = repeated(6, 8, 0.1);
  for (json& row : published) row["published"] = true;
  EXPECT_EQ(notes(model_of(published, "log(time) ~ log(flops)")).find("TOO SMALL"),
            std::string::npos);
  EXPECT_EQ(
      notes(model_of(repeated(6, 8, 0.1), "log(time) ~ problem + algorithm")).find("TOO SMALL"),
      std::string::npos);
  // A coefficient that one problem alone determines has no error by problem.
  expect_says(notes(model_of(repeated(6, 8, 0.1), "log(time) ~ log(flops) + family")),
              "by problem none: a single group determines it");
}

TEST(Model, AModelThatExplainsNothingHasNoNegativeR2) {
  json rows = json::array();
  for (int i = 0; i < 7; ++i)
    rows.push_back({{"published", true}, {"time", 0.1 * (i % 3 + 1)}, {"threads", 2}});
  const json document = model_of(rows, "log(time) ~ 1");
  EXPECT_EQ(document.at("r2"), 0.0);
  EXPECT_EQ(document.at("adjusted_r2"), 0.0);
}

}  // namespace test_model_errors
}  // namespace assay::test
