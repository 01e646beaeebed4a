// The counts in the picture of trainings to an accuracy.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report/parts.hpp"
#include "tests/support/rows.hpp"

namespace test_convergence {

using namespace assay;
using nlohmann::json;

/// One of the trials of a training with 256 images in a step.
json training(const std::string& trial, const std::string& status, bool reached) {
  json made =
      test::row(status, 1e-3, 0,
                {{"data", "learnable:n9v9"}, {"epochs", "5"}, {"trial", trial}, {"target", "0.9"}});
  made["problem"]["global_batch_size"] = 256;
  if (status == "ok") made["epochs"] = {{{"epoch", 2}, {"seconds", 3}, {"accuracy", 0.95}}};
  if (reached) made["metrics"]["time_to_accuracy_s"] = {{"value", 3}, {"unit", "s"}};
  return made;
}

json curves_of(const std::vector<json>& rows) {
  const std::vector<NamedResult> results{{"", test::result(rows)}};
  return report::make_convergence_part(results, make_series(results));
}

TEST(ConvergencePart, ATrainingThatFailedIsNoneThatMissedItsTarget) {
  const json curves = curves_of({training("0", "ok", true), training("1", "failed", false),
                                 training("2", "timeout", false), training("3", "incorrect", false),
                                 training("4", "target missed", false)});
  ASSERT_EQ(curves.size(), 1U) << curves;
  const json& point = curves[0].at("points").at(0);
  EXPECT_EQ(point.at("trials"), 3) << point;
  EXPECT_EQ(point.at("reached"), 1) << point;
  EXPECT_EQ(point.at("epochs").at("low"), 2) << point;
  EXPECT_TRUE(point.at("epochs").at("high").is_null()) << point;  // of the last two
}

TEST(ConvergencePart, ACorrelationIsCalledOne) {
  json reached = training("1", "ok", true);
  reached["epochs"][0] = {{"epoch", 2}, {"seconds", 3}, {"correlation", 0.95}};
  reached["metrics"] = {{"time_to_correlation_s", {{"value", 3}, {"unit", "s"}}}};
  const json point =
      curves_of({training("0", "incorrect", false), reached}).at(0).at("points").at(0);
  EXPECT_EQ(point.at("correlation"), 0.95) << point;
  EXPECT_EQ(point.at("reached"), 1) << point;
  EXPECT_FALSE(point.contains("accuracy")) << point;
}

TEST(ConvergencePart, WithoutATrainingThatEndedThereIsNoPicture) {
  EXPECT_TRUE(curves_of({training("0", "failed", false)}).is_null());
  EXPECT_TRUE(curves_of({training("0", "unsupported", false)}).is_null());
}

}  // namespace test_convergence
