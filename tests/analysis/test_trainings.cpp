// A throughput of training stands beside the convergence of the same steps, or says that it has
// none.
#include "analysis/trainings.hpp"

#include <gtest/gtest.h>

#include "analysis/table/table.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace test_trainings {

using namespace assay;
using nlohmann::json;

const Settings training{{"data", "learnable:n9v9"}, {"epochs", "5"}};

/// A row that trains with a batch of 32, by default for its throughput alone.
json row_of(Settings more = {}, const std::string& status = "ok") {
  more.insert({{"data", "synthetic"}, {"epochs", "0"}, {"batch", "32"}, {"trial", "0"}});
  json object = test::row(status, 1e-3, 0, more);
  object["step_parameters"] = {"backend", "batch", "precision", "problem"};
  return object;
}

/// The row of a training that ends after `epochs` of them.
json trained(double accuracy, int epochs, bool reached, Settings more = training) {
  json object = row_of(std::move(more));
  for (int i = 1; i <= epochs; ++i)
    object["epochs"].push_back({{"epoch", i}, {"seconds", i}, {"accuracy", accuracy}});
  if (reached) object["metrics"]["time_to_accuracy_s"] = {{"value", epochs}, {"unit", "s"}};
  return object;
}

json correlated(double correlation) {
  json object = row_of(training);
  object["epochs"] = {{{"epoch", 1}, {"seconds", 1}, {"correlation", correlation}}};
  object["metrics"]["time_to_correlation_s"] = {{"value", 1}, {"unit", "s"}};
  return object;
}

/// Environment i has version i of a library.
json result_of(const std::vector<json>& rows) {
  json object = test::result(rows);
  for (int i = 0; i < 2; ++i)
    object["environments"].push_back({{"host", "h"},
                                      {"hardware", nullptr},
                                      {"volatile", nullptr},
                                      {"hashes", {{"hardware", "h"}, {"software", "s"}}},
                                      {"software",
                                       {{"assay", {{"commit", "a"}}},
                                        {"kernel", i},
                                        {"libraries", {{"dnnl", std::to_string(i)}}}}}});
  return object;
}

std::string text_of_first(const std::vector<json>& rows) {
  const std::vector<NamedResult> results{{"", result_of(rows)}};
  for (const Series& series : make_series(results))
    if (series.first().id == rows.front()["id"]) return Trainings(results).text(series);
  return "no such series";
}

TEST(Trainings, StandBesideTheThroughputOfTheSameSteps) {
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true)}),
            "accuracy 0.975 in 3 epochs of learnable:n9v9");
  EXPECT_EQ(text_of_first({row_of(), correlated(0.93)}),
            "correlation 0.93 in 1 epoch of learnable:n9v9");
  EXPECT_EQ(text_of_first({trained(0.975, 1, true)}),
            "accuracy 0.975 in 1 epoch of learnable:n9v9");
}

TEST(Trainings, OfOtherStepsStandNowhere) {
  const std::string none = "throughput only";
  EXPECT_EQ(text_of_first({row_of()}), none);
  for (const char* differs : {"batch", "backend", "precision"}) {
    Settings other = training;
    other[differs] = "64";
    EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true, other)}), none) << differs;
  }
  json other = trained(0.975, 3, true);
  other["problem"]["descriptor"] = "another";
  EXPECT_EQ(text_of_first({row_of(), other}), none);
  // Another library; what each of the two rows says of its step.
  other = trained(0.975, 3, true);
  other["environment"] = 1;
  EXPECT_EQ(text_of_first({row_of(), other}), none);
  other = trained(0.975, 3, true);
  other["step_parameters"] = {"precision", "problem"};
  EXPECT_EQ(text_of_first({row_of(), other}), none);
}

TEST(Trainings, ThatMissTheirTargetAreCountedAlone) {
  EXPECT_EQ(text_of_first({row_of(), trained(0.5, 5, false)}), "throughput only");
  EXPECT_EQ(text_of_first({row_of(), row_of(training, "incorrect")}), "throughput only");
  Settings second = training, third = training;
  second["trial"] = "1";
  third["trial"] = "2";
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true), trained(0.99, 4, true, second),
                           row_of(third, "target missed")}),
            "accuracy 0.99 in 4 epochs of learnable:n9v9 (2 of 3 trainings)");
  // A training that ended early says nothing of learning.
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true), row_of(third, "failed")}),
            "accuracy 0.975 in 3 epochs of learnable:n9v9");
}

TEST(Trainings, WithoutEpochsHaveNoAccuracy) {
  json changed = trained(0.975, 3, true);
  changed.erase("epochs");
  EXPECT_EQ(text_of_first({row_of(), changed}), "throughput only");
}

TEST(Trainings, ValidatedByTheImagesOfTrainingSayIt) {
  Settings files{{"data", "tfrecord:n9c3:ab"}, {"epochs", "5"}, {"validation", "none"}};
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true, files)}),
            "accuracy 0.975 in 3 epochs of tfrecord:n9c3:ab, validated by the images of training");
  files["validation"] = "tfrecord:n5c3:cd";
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true, files)}),
            "accuracy 0.975 in 3 epochs of tfrecord:n9c3:ab");
  Settings own = training;  // learnable images have others for validation
  own["validation"] = "none";
  EXPECT_EQ(text_of_first({row_of(), trained(0.975, 3, true, own)}),
            "accuracy 0.975 in 3 epochs of learnable:n9v9");
}

TEST(Trainings, AreOfNoUseToRowsWithoutANumberOrThatTrainNothing) {
  EXPECT_EQ(text_of_first({row_of({}, "incorrect"), trained(0.975, 3, true)}), "");
  EXPECT_EQ(text_of_first({test::row("ok", 1e-3), trained(0.975, 3, true)}), "");
}

TEST(Trainings, AreInTablesAndTheirRecords) {
  const std::vector<NamedResult> results{
      {"", result_of({row_of(), row_of({{"batch", "64"}}), trained(0.975, 3, true)})}};
  const std::string text = render_table(results, {}, {});
  EXPECT_NE(text.find("throughput only"), std::string::npos) << text;
  EXPECT_NE(text.find("accuracy 0.975 in 3 epochs"), std::string::npos) << text;
  EXPECT_NE(text.find("\nconvergence: what trainings"), std::string::npos) << text;  // wrapped
  const json records = table_document(results, {}, {});
  EXPECT_TRUE(find_schema_errors(records, "table", "x").empty());
  std::map<std::string, std::string> hashes, learnt;
  for (const json& record : records["rows"]) {
    const std::string name =
        record["parameters"]["batch"].dump() + " " + record["parameters"]["epochs"].dump();
    hashes[name] = record["step_hash"];
    learnt[name] = record["convergence"];
  }
  EXPECT_EQ(hashes["32 0"], hashes["32 5"]);
  EXPECT_NE(hashes["32 0"], hashes["64 0"]);
  EXPECT_EQ(learnt["32 0"], learnt["32 5"]);
  EXPECT_EQ(learnt["64 0"], "throughput only");
}

}  // namespace test_trainings
