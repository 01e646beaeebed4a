#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/text_table.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "model_data.hpp"

namespace assay::test {
namespace test_model {

using nlohmann::json;

TEST(Model, ExactDataGiveExactCoefficientsAndNoErrors) {
  const json document = model_of(sample(0), "log(time) ~ architecture + log(size) + workload");
  EXPECT_NEAR(number(document, "(Intercept)", "estimate"), std::log(2.0), 1e-12);
  EXPECT_NEAR(number(document, "log(size)", "estimate"), 1, 1e-12);
  EXPECT_NEAR(number(document, "architecture[new]", "speedup"), 4, 1e-11);
  EXPECT_NEAR(number(document, "workload[svm]", "speedup"), 1.0 / 3, 1e-11);
  for (const json& coefficient : document.at("coefficients")) {
    EXPECT_TRUE(coefficient.at("se").is_null() && coefficient.at("speedup_interval").is_null());
    expect_says(coefficient.at("reason"), "no residual");
  }
  EXPECT_TRUE(document.at("f").at("value").is_null());
  EXPECT_TRUE(find_schema_errors(document, "model", "x").empty());
}

TEST(Model, TellsHowManyObservationsWereThrottled) {
  json rows = sample();
  for (json& row : rows) row["published"] = false;
  EXPECT_EQ(model_of(rows, "log(time) ~ log(size)")["notes"].dump().find("throttled"),
            std::string::npos);
  rows[3]["device_state"] = {{"seconds", 1}, {"throttled_s", {{"heat", 0.5}}}};
  const std::string notes = model_of(rows, "log(time) ~ log(size)")["notes"].dump();
  EXPECT_NE(notes.find("1 observation was timed while power or heat throttled"), std::string::npos)
      << notes;
}

TEST(Model, BenchmarksStandInOneFrameWithWhatRanAsAFactor) {
  // time = flops * (winograd 1/2, standard 3) * (bf16 1/4): convolutions, a product, a network.
  json rows = json::array();
  for (const auto& [benchmark, ran, factor] : {std::tuple{"conv", "direct", 1.0},
                                               {"conv", "winograd", 0.5},
                                               {"gemm", "direct", 1.0},
                                               {"rnn", "standard", 3.0}})
    for (const char* precision : {"fp32", "bf16"})
      for (const double flops : {1e6, 2e6, 8e6}) {
        json row{{"benchmark", benchmark},
                 {"precision", precision},
                 {"algorithm", "auto"},
                 {"flops", flops},
                 {"executed", {{"algorithm", ran}, {"implementation", std::string("jit:") + ran}}},
                 {"time", flops * factor * (precision[0] == 'b' ? 0.25 : 1) * 1e-9}};
        if (std::string(benchmark) == "rnn")  // no column of the others
          row["input"] = flops == 2e6 ? "skip" : "linear";
        rows.push_back(row);
      }
  const json all = model_of(rows, "log(time) ~ ran + precision + log(flops)");
  EXPECT_EQ(all["observations"].size(), 24u);
  EXPECT_NEAR(number(all, "ran[winograd]", "estimate"), std::log(0.5), 1e-12);
  EXPECT_NEAR(number(all, "ran[standard]", "estimate"), std::log(3.0), 1e-12);
  EXPECT_NEAR(number(all, "precision[bf16]", "estimate"), std::log(0.25), 1e-12);
  EXPECT_NEAR(number(all, "log(flops)", "estimate"), 1, 1e-12);
  EXPECT_NEAR(number(model_of(rows, "log(time) ~ implementation + precision + log(flops)"),
                     "implementation[jit:winograd]", "estimate"),
              std::log(0.5), 1e-12);
  // A column that one benchmark alone has leaves the others out, and says so.
  const json narrow = model_of(rows, "log(time) ~ input + precision + log(flops)");
  EXPECT_EQ(narrow["observations"].size(), 6u);
  EXPECT_NE(narrow["left_out"].dump().find("no value of input"), std::string::npos) << narrow;
}

TEST(Model, SpeedupSaysFasterAboveOneForTimesAndRates) {
  json rows = sample();
  const json times = model_of(rows, "log(time) ~ architecture + log(size) + workload");
  EXPECT_NEAR(number(times, "architecture[new]", "speedup"), 4, 0.2);
  const json* coefficient = coefficient_of(times, "architecture[new]");
  EXPECT_LT((*coefficient)["speedup_interval"][0], (*coefficient)["speedup"]);
  EXPECT_GT((*coefficient)["speedup_interval"][1], (*coefficient)["speedup"]);
  EXPECT_NEAR((*coefficient)["speedup_interval"][0].get<double>(),
              std::exp(-(*coefficient)["interval"][1].get<double>()), 1e-12);
  EXPECT_TRUE(std::isnan(number(times, "log(size)", "speedup")));

  for (json& row : rows) row["rates"] = {{"flops_per_s", 1 / row["time"].get<double>()}};
  const json rates = model_of(rows, "log(rate.flops_per_s) ~ architecture + log(size) + workload");
  EXPECT_NEAR(number(rates, "architecture[new]", "speedup"),
              number(times, "architecture[new]", "speedup"), 1e-9);
  const json twos = model_of(rows, "log2(time) ~ architecture + log(size) + workload");
  EXPECT_NEAR(number(twos, "architecture[new]", "speedup"),
              number(times, "architecture[new]", "speedup"), 1e-9);
  const json plain = model_of(rows, "time ~ architecture + log(size) + workload");
  EXPECT_TRUE(std::isnan(number(plain, "architecture[new]", "speedup")));
}

TEST(Model, AMainEffectBesideItsInteractionIsNoSpeedupOfItsOwn) {
  const json numbers = model_of(sample(), "log(time) ~ architecture*log(size) + workload");
  EXPECT_TRUE(std::isnan(number(numbers, "architecture[new]", "speedup")));
  expect_says(coefficient_of(numbers, "architecture[new]")->at("note"), "log(size)");
  const json factors = model_of(sample(), "log(time) ~ architecture*workload + log(size)");
  EXPECT_EQ(coefficient_of(factors, "architecture[new]")->at("note"), "at workload=pca");
  EXPECT_TRUE(std::isnan(number(factors, "architecture[new]:workload[svm]", "speedup")));
}

TEST(Model, ReferenceIsTheFirstFilesLevelOrTheOneAskedFor) {
  const json first = model_of(sample(), "log(time) ~ architecture + workload");
  EXPECT_EQ(first.at("reference"), json({{"architecture", "old"}, {"workload", "pca"}}));
  ModelOptions options;
  options.references = {{"architecture", "new"}};
  const json asked = model_of(sample(), "log(time) ~ architecture + workload", options);
  EXPECT_NEAR(number(asked, "architecture[old]", "speedup"),
              1 / number(first, "architecture[new]", "speedup"), 1e-12);
  EXPECT_NEAR(asked.at("r2").get<double>(), first.at("r2").get<double>(), 1e-12);
  options.references = {{"size", "4"}};
  const json sizes = model_of(sample(), "log(time) ~ architecture + factor(size)", options);
  EXPECT_EQ(sizes.at("reference").at("size"), "4");
  EXPECT_NE(coefficient_of(sizes, "factor(size)[1]"), nullptr);

  options.references = {{"architecture", "nwe"}};
  expect_says(refusal(sample(), "log(time) ~ architecture", options), "Did you mean 'new'");
  options.references = {{"workload", "pca"}};
  expect_says(refusal(sample(), "log(time) ~ architecture", options), "workload");
}

TEST(Model, AliasesAreNamedAndTheEarlierTermStays) {
  json rows = sample();
  for (json& row : rows) {
    row["bits"] = 8 * row["size"].get<double>();
    row["only"] = "one";
  }
  const json document =
      model_of(rows, "log(time) ~ architecture + system + log(size) + log(bits) + workload + only");
  std::map<std::string, std::string> aliased;
  for (const json& alias : document.at("aliased")) aliased[alias.at("term")] = alias.at("because");
  EXPECT_EQ(aliased.size(), 3U);
  expect_says(aliased["system[machine new]"], "1 architecture[new]");
  expect_says(aliased["log(bits)"], "2.07944 (Intercept) + 1 log(size)");
  expect_says(aliased["only"], "every observation has one");
  const json without = model_of(rows, "log(time) ~ architecture + log(size) + workload");
  EXPECT_NEAR(number(document, "log(size)", "se"), number(without, "log(size)", "se"), 1e-12);
  // Fitted values do not depend on the order of the terms, the names of the aliases do.
  const json turned = model_of(rows, "log(time) ~ system + architecture + log(bits) + workload");
  EXPECT_EQ(turned.at("aliased").size(), 1U);
  EXPECT_EQ(turned.at("aliased")[0].at("term"), "architecture[new]");
  EXPECT_NEAR(turned.at("r2").get<double>(), without.at("r2").get<double>(), 1e-12);
}

TEST(Model, Predictions) {
  ModelOptions options;
  options.predictions = {
      {{"architecture", "new"}, {"workload", "svm"}, {"size", "4"}},
      {{"architecture", "new"}, {"workload", "svm"}, {"size", "64"}},
      {{"architecture", "newest"}, {"workload", "svm"}, {"size", "4"}},
  };
  const ModelDocument fitted =
      fit_rows(sample(), "log(time) ~ architecture + log(size) + workload", options);
  const json document = fitted;
  const json& all = document.at("predictions");
  EXPECT_NEAR(all[0]["value"].get<double>(), 6, 0.2);
  EXPECT_LT(all[0]["interval"][0], all[0]["value"]);
  EXPECT_GT(all[0]["interval"][1], all[0]["value"]);
  EXPECT_TRUE(all[0]["extrapolated"].empty() && all[0]["reason"].is_null());
  ASSERT_EQ(all[1]["extrapolated"].size(), 1U);
  EXPECT_EQ(all[1]["extrapolated"][0],
            json({{"column", "size"}, {"value", 64.0}, {"observed", {1.0, 8.0}}}));
  EXPECT_TRUE(all[2]["value"].is_null() && all[2]["interval"].is_null());
  EXPECT_EQ(all[2]["unseen"], json::array({"architecture=newest"}));
  EXPECT_TRUE(find_schema_errors(document, "model", "x").empty());
  for (const bool markdown : {false, true}) {
    expect_says(render_model(fitted, markdown), "EXTRAPOLATED: size");
    expect_says(render_model(fitted, markdown), "UNSEEN: architecture=newest");
  }

  options.predictions = {{{"architecture", "new"}, {"size", "4"}}};
  expect_says(refusal(sample(), "log(time) ~ architecture + log(size) + workload", options),
              "no value for workload");
  options.predictions = {{{"arhcitecture", "new"}}};
  expect_says(refusal(sample(), "log(time) ~ architecture", options),
              "Did you mean 'architecture'");
  options.predictions = {{{"size", "big"}}};
  expect_says(refusal(sample(), "log(time) ~ log(size)", options), "not a valid value of size");
  options.predictions = {{{"size", "-4"}}};
  expect_says(refusal(sample(), "log(time) ~ log(size)", options),
              "log(size) is not defined at size = -4");
}

TEST(Model, PredictsNothingForACombinationThatAliasesHide) {
  json rows = json::array();
  for (json& row : sample())
    if (row["architecture"] != "new" || row["workload"] != "svm") rows.push_back(row);
  ModelOptions options;
  options.predictions = {{{"architecture", "new"}, {"workload", "svm"}, {"size", "4"}},
                         {{"architecture", "new"}, {"workload", "pca"}, {"size", "4"}}};
  const json document = model_of(rows, "log(time) ~ architecture*workload + log(size)", options);
  EXPECT_EQ(document.at("aliased")[0].at("because"), "no observation has this combination");
  EXPECT_TRUE(document["predictions"][0]["value"].is_null());
  expect_says(document["predictions"][0]["reason"], "aliased");
  EXPECT_TRUE(document["predictions"][1]["value"].is_number());
}

TEST(Model, LeavesMachinesAndTheLargestOut) {
  json rows = sample(0);
  for (json& row : rows)
    if (row["size"] == 8.0) row["time"] = row["time"].get<double>() * 1.5;
  const json document = model_of(rows, "log(time) ~ log(size) + workload");
  const json& checks = document.at("validation");
  ASSERT_EQ(checks.size(), 3U);
  EXPECT_EQ(checks[0]["left_out"], "system=machine old");
  EXPECT_EQ(checks[0]["n"], 8);
  const json exact = model_of(sample(0), "log(time) ~ log(size) + workload").at("validation");
  EXPECT_NEAR(exact[0]["rms_error"].get<double>(), std::log(4.0), 1e-12);
  EXPECT_NEAR(exact[0]["worst_ratio"].get<double>(), 4, 1e-11);
  EXPECT_EQ(checks[2]["left_out"], "size=8");
  // The model predicts the mean of two machines that differ by 4: 2 from each.
  EXPECT_NEAR(checks[2]["worst_ratio"].get<double>(), 2 * 1.5, 1e-11);

  // A machine with a coefficient of its own cannot be predicted from the others.
  const json own = model_of(sample(), "log(time) ~ architecture + log(size) + workload");
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_TRUE(own["validation"][i]["rms_error"].is_null());
    expect_says(own["validation"][i]["reason"], "only they determine");
  }
  EXPECT_TRUE(own["validation"][2]["rms_error"].is_number());
  const json levels = model_of(sample(), "log(time) ~ architecture + factor(size) + workload");
  EXPECT_TRUE(levels["validation"][2]["rms_error"].is_null());
}

TEST(Model, RowsThatAreNotOkAndTheirOtherLaunchesAreLeftOut) {
  json rows = read_launch_info(6);
  rows[4]["status"] = "incorrect";  // base, launch 1, id 1
  rows[4].erase("time");
  rows.push_back({{"system", "base"}, {"status", "unsupported"}, {"workload", "a"}});
  rows.push_back({{"system", "base"}, {"time", 1.0}});  // no workload
  const json document = model_of(rows, "log(time) ~ system + workload");
  EXPECT_EQ(document.at("n"), 36 - 6);
  std::map<std::string, int> left;
  for (const json& entry : document.at("left_out")) left[entry.at("reason")] = entry.at("rows");
  EXPECT_EQ(left["incorrect"], 1);
  EXPECT_EQ(left["ok, but another launch of the id is incorrect"], 5);
  EXPECT_EQ(left["unsupported"], 1);
  EXPECT_EQ(left["no value of workload"], 1);
}

TEST(Model, IncomparableNumbersNeverStandBesideOthers) {
  json rows = sample();
  rows.push_back({{"system", "machine old"},
                  {"published", true},
                  {"architecture", "old"},
                  {"time", 1e6},
                  {"incomparable", "iteration count not published"}});
  const json document = model_of(rows, "log(time) ~ architecture");
  EXPECT_EQ(document.at("n"), 16);
  expect_says(document.at("left_out")[0].at("reason"), "iteration count not published");
  // Numbers of one source are comparable with each other, those of two are not.
  json own = sample();
  for (json& row : own) {
    row["incomparable"] = "iteration count not published";
    row["comparable_within"] = "document 4";
  }
  EXPECT_EQ(model_of(own, "log(time) ~ architecture").at("n"), 16);
  for (json& row : own) row.erase("comparable_within");
  EXPECT_EQ(model_of(own, "log(time) ~ workload").at("n"), 8);
}

TEST(Model, WhatIsFoundDoesNotDependOnTheOrderOfRowsOrOnUnits) {
  const json rows = read_launch_info(8);
  json turned = rows;
  std::reverse(turned.begin(), turned.end());
  for (json& row : turned) row["time"] = row["time"].get<double>() * 1000;
  ModelOptions options;
  options.references = {{"system", "base"}, {"workload", "a"}};
  const json original = model_of(rows, "log(time) ~ system + workload", options);
  const json other = model_of(turned, "log(time) ~ system + workload", options);
  for (const char* term : {"system[new]", "workload[b]", "workload[c]"})
    for (const char* field : {"estimate", "se", "p", "speedup"})
      EXPECT_NEAR(number(original, term, field) / number(other, term, field), 1, 1e-9)
          << term << field;
  EXPECT_NEAR(
      number(other, "(Intercept)", "estimate") - number(original, "(Intercept)", "estimate"),
      std::log(1000.0), 1e-12);
  EXPECT_NEAR(original["f"]["value"].get<double>() / other["f"]["value"].get<double>(), 1, 1e-8);
}

TEST(Model, PublishedIsSaid) {
  const ModelDocument fitted = fit_rows(sample(), "log(time) ~ architecture");
  const json document = fitted;
  EXPECT_TRUE(document.at("published"));
  EXPECT_EQ(document.at("citations"), json::array({"a source"}));
  expect_says(render_model(fitted, false), "published numbers without samples");
  EXPECT_FALSE(model_of(read_launch_info(6), "log(time) ~ system + workload").at("published"));
}

TEST(Model, BadInput) {
  const json rows = sample();
  expect_says(refusal(rows, "log(time) ~ architectur"), "Did you mean 'architecture'");
  expect_says(refusal(rows, "log(tme) ~ architecture"), "Did you mean 'time'");
  json wide = rows;
  for (int i = 0; i < 30; ++i) wide[0]["p" + std::to_string(i)] = i;
  expect_says(refusal(wide, "time ~ zzzzzz"), "unknown column 'zzzzzz'. The results have: ");
  expect_says(refusal(wide, "time ~ zzzzzz"), "p29");
  expect_says(refusal(wide, "time ~ zzzzzz"), "workload");
  expect_says(refusal(rows, "log(time) ~ log(workload)"), "needs numbers (workload is \"pca\"");
  expect_says(refusal(rows, "workload ~ architecture"), "is text");
  json zero = rows;
  zero[3]["time"] = 0.0;
  expect_says(refusal(zero, "log(time) ~ architecture"), "log(time) is not defined at time = 0 (");
  expect_says(refusal(zero, "log(time) ~ architecture"), "machine old");
  zero = rows;
  zero[5]["size"] = -1.0;
  expect_says(refusal(zero, "time ~ sqrt(size)"), "sqrt(size) is not defined at size = -1");
  json same = rows;
  for (json& row : same) row["time"] = 2.5;
  expect_says(refusal(same, "time ~ architecture"), "time is 2.5 in every observation");
  json few = json::array();
  for (const std::size_t i : {0U, 3U, 9U}) few.push_back(rows[i]);
  expect_says(refusal(few, "time ~ architecture + size"),
              "3 observations cannot determine 3 coefficients");
  expect_says(refusal(json::array({rows[0]}), "time ~ architecture"),
              "1 observation cannot determine 1 coefficient and");
  expect_says(refusal(json::array(), "time ~ size"), "nothing: no row can be used");
  json failed = rows;
  for (json& row : failed) {
    row["status"] = "failed";
    row.erase("time");
  }
  expect_says(refusal(failed, "log(time) ~ size"), "nothing: no row can be used (16: failed)");
  json apart = rows;
  apart.push_back({{"time", 1.0}, {"smt", 2}});
  expect_says(refusal(apart, "log(time) ~ size + smt"), "nothing: no row has all columns");
  json many = json::array();
  for (int i = 0; i < 1100; ++i)
    many.push_back({{"time", 1.0 + i}, {"tag", std::to_string(i)}, {"published", true}});
  expect_says(refusal(many, "time ~ tag"), "more than 1000 coefficients");
  json none = rows;
  for (json& row : none) row["smt"] = 0;
  expect_says(refusal(none, "log(time) ~ smt - 1"), "no term with a coefficient");
  json huge = rows;
  for (json& row : huge) row["size"] = row["size"].get<double>() * 1e307;
  expect_says(refusal(huge, "time ~ size"), "would overflow");
}

TEST(Model, RenderingsHaveTheSameNumbers) {
  json rows = sample();
  for (json& row : rows) row["workload"] = row["workload"] == "pca" ? "p|c\"a" : "svm";
  ModelOptions options;
  options.references = {{"workload", "svm"}};
  const ModelDocument fitted =
      fit_rows(rows, "log(time) ~ architecture + log(size) + workload", options);
  const json document = fitted;
  const std::string terminal = render_model(fitted, false);
  for (const char* part : {"log(time) ~ architecture", "observations", "architecture[new]",
                           "speedup", "adjusted", "F(3, 12)", "size=8"})
    expect_says(terminal, part);
  expect_says(render_model(fitted, true), "workload\\[p\\|c\"a\\]");
  const std::string csv = render_model_csv(fitted);
  expect_says(csv, "term,estimate,se,t,p,low,high,speedup,speedup_low,speedup_high,note\r\n");
  expect_says(csv, "\"workload[p|c\"\"a]\"," +
                       coefficient_of(document, "workload[p|c\"a]")->at("estimate").dump());
}

TEST(Model, LongTextsAreFootnotesOnATerminal) {
  const std::string library =
      "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH USE_OPENMP Haswell "
      "MAX_THREADS=64, core Haswell cblas_";
  json rows = sample();
  for (json& row : rows) {
    row["workload"] = library + (row["workload"] == "pca" ? "dgemm" : "sgemm");
    row["id"] = std::string(90, 'x') + row["size"].dump() + row["architecture"].dump();
  }
  const ModelDocument fitted = fit_rows(rows, "log(time) ~ architecture + log(size) + workload");
  std::string terminal = render_model(fitted, false);
  for (const std::string& line : split(terminal, '\n'))
    EXPECT_LE(count_columns(line), 130U) << line;
  for (std::size_t end = 0; (end = terminal.find("\n  ", end)) != std::string::npos;)
    terminal.replace(end, 3, " ");  // a footnote has several lines
  expect_says(terminal, "\nworkload[OpenBLAS 0.3.21 NO_LAP… [");
  expect_says(terminal, "] workload[" + library + "sgemm]\n");
  expect_says(terminal, "] architecture=old, workload=" + library + "dgemm\n");
  expect_says(terminal, "] per unit of log(size)\n");
  expect_says(terminal, std::string(90, 'x'));
  // Elsewhere lines may be long.
  expect_says(render_model(fitted, true), "| per unit of log(size) |");
}

}  // namespace test_model
}  // namespace assay::test
