// A case that was prepared otherwise than its parameters say.

#include "models/network/prepared_as_claimed.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/program/suite.hpp"
#include "models/resnet50/benchmark.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_prepared_as_claimed {

/// The parameters of a case as the program completes them, and the run that they ask for.
struct Prepared {
  Settings claims;
  TrainingRun run;
};

Prepared prepare_table() {
  const std::map<std::string, std::vector<std::string>> flags{
      {"problem", {"d18w8s32c10"}}, {"batch", {"4"}}, {"threads", {"1"}}, {"backend", {"native"}}};
  Prepared all{expand(resnet50_benchmark(), flags, network_test::plugins()).at(0).settings, {}};
  all.run.trainer = network_test::small_settings("native");
  all.run.trainer.executor.threads = 1;
  all.run.trainer.executor.device = "cpu";
  all.run.convergence.target = 0.759;
  all.run.convergence.decay.kind = Decay::Kind::cosine;
  return all;
}

TEST(PreparedAsClaimed, ARightPreparationPasses) {
  const Prepared all = prepare_table();
  EXPECT_NO_THROW(expect_training(all.run, all.claims));
}

TEST(PreparedAsClaimed, EverythingElseIsFound) {
  const std::vector<std::pair<const char*, std::function<void(TrainingRun&)>>> changes{
      {"problem",
       [](TrainingRun& run) {
         run.trainer.network = make_resnet({18, 4, 32, 10});
       }},
      {"batch", [](TrainingRun& run) { run.trainer.batch /= 2; }},
      {"accumulate", [](TrainingRun& run) { run.trainer.accumulate = 2; }},
      {"lag", [](TrainingRun& run) { run.trainer.lag = 1; }},
      {"control", [](TrainingRun& run) { run.trainer.control = 0; }},
      {"precision", [](TrainingRun& run) { run.trainer.precision = Precision::bf16; }},
      {"emulate", [](TrainingRun& run) { run.trainer.executor.wide_products = true; }},
      {"optimizer", [](TrainingRun& run) { run.trainer.learning.rule = UpdateRule::lars; }},
      {"momentum", [](TrainingRun& run) { run.trainer.learning.momentum = 0; }},
      {"weight_decay", [](TrainingRun& run) { run.trainer.learning.weight_decay = 0; }},
      {"trust", [](TrainingRun& run) { run.trainer.learning.coefficient = 1; }},
      {"smoothing", [](TrainingRun& run) { run.trainer.learning.smoothing = 0.1; }},
      {"weight_gradients", [](TrainingRun& run) { run.trainer.learning.narrow_gradients = true; }},
      {"loss_scale",
       [](TrainingRun& run) { run.trainer.loss_scale.kind = LossScaleSettings::Kind::dynamic; }},
      {"backend", [](TrainingRun& run) { run.trainer.executor.backends = {"onednn"}; }},
      {"backend", [](TrainingRun& run) { run.trainer.executor.measured = true; }},
      {"threads", [](TrainingRun& run) { run.trainer.executor.threads = 2; }},
      {"device", [](TrainingRun& run) { run.trainer.executor.device = "gpu"; }},
      {"parallel", [](TrainingRun& run) { run.parallel.kind = WayKind::async; }},
      {"steps", [](TrainingRun& run) { run.steps = 5; }},
      {"data", [](TrainingRun& run) { run.data.data = "learnable:n40v10"; }},
      {"page_cache", [](TrainingRun& run) { run.cold = true; }},
      {"epochs", [](TrainingRun& run) { run.convergence.epochs = 1; }},
      {"target", [](TrainingRun& run) { run.convergence.target = 0.659; }},
      {"schedule", [](TrainingRun& run) { run.convergence.decay.kind = Decay::Kind::constant; }},
      {"unreached", [](TrainingRun& run) { run.keep_unreached = true; }}};
  for (const auto& [what, change] : changes) {
    Prepared all = prepare_table();
    change(all.run);
    try {
      expect_training(all.run, all.claims);
      ADD_FAILURE() << what;
    } catch (const WrongResult& wrong) {
      EXPECT_NE(std::string(wrong.what()).find(what), std::string::npos) << wrong.what();
    }
  }
}

}  // namespace test_prepared_as_claimed
}  // namespace assay
