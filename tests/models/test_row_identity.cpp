#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/input/benchmark.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/pca/benchmark.hpp"
#include "models/resnet50/benchmark.hpp"
#include "models/svm/benchmark.hpp"
#include "tests/core/parameters_judged.hpp"

namespace assay {
namespace test_row_identity {

TEST(RowIdentity, ParametersOfModels) {
  fixture::expect_parameters_judged(pca_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(kmeans_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(svm_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(input_benchmark());
  fixture::expect_parameters_judged(resnet50_benchmark());
}

TEST(RowIdentity, ModelsDeclareWhatDescribesTheSystem) {
  const auto declared = [](const Benchmark& benchmark, const std::string& problem) {
    Plugins plugins;
    return expand(benchmark, {{"problem", {problem}}}, plugins).at(0).system_parameters;
  };
  EXPECT_EQ(declared(resnet50_benchmark(), "imagenet"),
            (std::vector<std::string>{"allocator", "allreduce", "allreduce_transport", "backend",
                                      "checkpoint", "control", "device", "threads"}));
  EXPECT_EQ(declared(pca_benchmark(), "n600d13"),
            (std::vector<std::string>{"algorithm", "allocator", "backend", "blas", "device", "smt",
                                      "threads"}));
}

/// All of a training's dimensions but those that say of which images, and how long.
TEST(RowIdentity, StepsOfATrainingAreKnownByTheirParameters) {
  Plugins plugins;
  const Benchmark& resnet50 = resnet50_benchmark();
  const Case training = expand(resnet50, {}, plugins).at(0);
  std::vector<std::string> outside;
  for (const auto& [name, value] : training.settings)
    if (std::count(training.step_parameters.begin(), training.step_parameters.end(), name) == 0)
      outside.push_back(name);
  EXPECT_EQ(outside, (std::vector<std::string>{"augment", "checkpoint", "control", "data", "epochs",
                                               "label_base", "max_bad_samples", "page_cache",
                                               "restart", "self_check", "steps", "target", "trial",
                                               "unreached", "validate_every", "validation"}));
  const nlohmann::json row = nlohmann::json::parse(
      R"({"id": "a/p", "benchmark": "a", "problem": {"descriptor": "p"}, "parameters": {"x": 1}})");
  for (const auto& [names, said] :
       {std::pair{R"(["problem", "x"])", "accepted"},
        std::pair{R"(["problem", "y"])", "/step_parameters: found \"y\""}}) {
    nlohmann::json of = row;
    of["id_form"] = "a/{problem}[/x=1]";
    of["step_parameters"] = nlohmann::json::parse(names);
    EXPECT_SAYS(fixture::identity_of(of), said);
  }
  EXPECT_TRUE(
      expand(resnet50, {{"direction", {"inference"}}}, plugins).at(0).step_parameters.empty());
}

TEST(RowIdentity, AThroughputWithoutAnAccuracyThatWasReachedSaysSo) {
  Row row;
  EXPECT_EQ(resnet50_benchmark().row_label(row), "");  // it does not train
  row.step_parameters = {"batch"};
  EXPECT_EQ(resnet50_benchmark().row_label(row), "throughput only");
  row.metrics["accuracy"] = {0.1, "", ""};  // kept, though it missed its target
  EXPECT_EQ(resnet50_benchmark().row_label(row), "throughput only");
  row.metrics["time_to_accuracy_s"] = {1.0, "s", "lower"};
  EXPECT_EQ(resnet50_benchmark().row_label(row), "");
}

}  // namespace test_row_identity
}  // namespace assay
