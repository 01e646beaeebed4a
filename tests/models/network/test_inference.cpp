// Inference as assay-resnet50 measures it.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/measure/run_case.hpp"
#include "core/program/suite.hpp"
#include "models/resnet50/benchmark.hpp"
#include "models/resnet50/resnet.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_inference {

using network_test::plugins;

Case one_case(std::map<std::string, std::vector<std::string>> given) {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"direction", "inference"}, {"problem", "d18w4s32c5"}, {"batch", "3"}, {"threads", "1"}})
    given.try_emplace(name, std::vector<std::string>{value});
  return expand(resnet50_benchmark(), given, plugins()).at(0);
}

Outcome run(const Case& selected) {
  const auto ranks = make_serial_communicator();
  CaseContext context{plugins(), *ranks, 1};
  TimingOptions timing;
  timing.max_time = 0.1;
  return run_case([&] { return resnet50_benchmark().prepare(selected, context); }, *ranks, timing);
}

TEST(Inference, EveryBackendPasses) {
  std::map<std::string, double> losses;
  for (const std::string backend : {"reference", "native", "onednn", "auto"}) {
    if (backend != "auto" && !plugins().status(backend).available) continue;
    const Outcome outcome = run(one_case({{"backend", {backend}}}));
    EXPECT_EQ(outcome.status, "ok") << backend << ": " << outcome.reason;
    ASSERT_TRUE(outcome.timing) << backend;
    EXPECT_EQ(outcome.work.at("images_per_s"), 3);
    losses[backend] = outcome.metrics.at("loss").value;
  }
  EXPECT_NEAR(losses.at("reference"), std::log(5), 1);
  for (const auto& [backend, loss] : losses)
    EXPECT_NEAR(loss, losses.at("reference"), 1e-4 * loss) << backend;
}

TEST(Inference, InFp64AndOfBottlenecks) {
  const Outcome fp64 = run(one_case({{"backend", {"reference"}}, {"precision", {"fp64"}}}));
  EXPECT_EQ(fp64.status, "ok") << fp64.reason;
  const Outcome deep = run(one_case({{"backend", {"native"}}, {"problem", {"d50w4s40c7"}}}));
  EXPECT_EQ(deep.status, "ok") << deep.reason;
}

TEST(Inference, InSixteenBits) {
  for (const char* precision : {"bf16", "fp16"}) {
    const Case selected = one_case({{"backend", {"native"}}, {"precision", {precision}}});
    EXPECT_EQ(selected.settings.at("loss_scale"), "none");
    const Outcome outcome = run(selected);
    EXPECT_EQ(outcome.status, "ok") << precision << ": " << outcome.reason;
  }
}

TEST(Inference, OneImageIsEnough) {
  const Outcome outcome = run(one_case({{"backend", {"native"}}, {"batch", {"1"}}}));
  EXPECT_EQ(outcome.status, "ok") << outcome.reason;
}

/// An audit finds results that are left from before.
TEST(Inference, RunsThatDoNothingAreFound) {
  const Case selected = one_case({{"backend", {"native"}}});
  const auto ranks = make_serial_communicator();
  CaseContext context{plugins(), *ranks, 1};
  auto prepared = resnet50_benchmark().prepare(selected, context);
  Workload& workload = *std::get<std::unique_ptr<Workload>>(prepared);
  EXPECT_TRUE(workload.verify_before().passed);
  for (const Audit kind : {Audit::poisoned_outputs, Audit::new_inputs})
    for (const bool runs : {true, false}) {
      workload.begin_audit(kind);
      if (runs) workload.run(workload.stream());
      const Verification found = workload.end_audit();
      EXPECT_EQ(found.passed, runs) << found.reason;
      EXPECT_EQ(found.wrong_elements > 0, !runs);
    }
  // The last timed run may be one that had other images.
  const Verification last = workload.verify_after();
  EXPECT_TRUE(last.passed) << last.reason;
}

TEST(Inference, CountsTheWorkOfAForwardPass) {
  const auto problem = resnet50_benchmark().problem(one_case({}));
  const double flops =
      3 * make_inference_graph(make_resnet({18, 4, 32, 5}), 1, Precision::fp32).flops();
  EXPECT_DOUBLE_EQ(problem->flops(), flops);
  EXPECT_DOUBLE_EQ(problem->amounts().at("images_per_s"), 3);
  EXPECT_GT(resnet50_benchmark().problem(one_case({{"direction", {"training"}}}))->flops(),
            2 * flops);
}

TEST(Inference, TimesSoManySteps) {
  const Outcome outcome = run(one_case({{"backend", {"native"}}, {"steps", {"7"}}}));
  ASSERT_EQ(outcome.status, "ok") << outcome.reason;
  EXPECT_EQ(outcome.timing->samples.size(), 7U);
}

TEST(Inference, RefusesWhatTrainingAloneHas) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"rate", "0.2"},
                                                                      {"smoothing", "0.1"},
                                                                      {"optimizer", "lars"},
                                                                      {"data", "learnable"},
                                                                      {"loss_scale", "dynamic"}}) {
    const Outcome outcome = run(one_case({{name, {value}}}));
    EXPECT_EQ(outcome.status, "unsupported") << name;
    const std::string flag = name == "loss_scale" ? "loss-scale" : name;
    EXPECT_NE(outcome.reason.find("--" + flag + " " + value), std::string::npos) << outcome.reason;
  }
}

}  // namespace test_inference
}  // namespace assay
