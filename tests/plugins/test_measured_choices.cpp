// `--backend auto` chooses the fastest candidate of each operation that is right.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/measure/run_case.hpp"
#include "models/network/parity.hpp"
#include "models/network/training_workload.hpp"
#include "models/resnet50/resnet.hpp"
#include "tests/plugins/cheats_on.hpp"

namespace assay {
namespace {

class MeasuredChoices : public testing::Test {
 protected:
  MeasuredChoices() {
    omp_set_num_threads(1);
    run_.trainer.network = make_resnet({18, cheats_on_gpu() ? 8 : 16, 32, 5});
    run_.trainer.batch = 2;
    run_.trainer.executor.backends = cheating_and_others();
    run_.trainer.executor.device = cheats_device();
    run_.trainer.executor.measured = true;
    run_.data.classes = run_.trainer.network.classes;
    run_.data.input = run_.trainer.network.input;
    run_.steps = 5;
  }

  /// Backends without convolution stay beside it.
  void without_native() {
    run_.trainer.executor.backends =
        cheats_on_gpu() ? std::vector<std::string>{"cheating"}
                        : std::vector<std::string>{"cheating", "blas", "reference"};
  }

  static void cheat(const std::string& how) { setenv("ASSAY_CHEAT", how.c_str(), 1); }

  /// The problem of a layer, which no other layer of this network has.
  std::string problem_of(const std::string& layer) const {
    const TrainerSettings& of = run_.trainer;
    for (const GraphNode& node :
         make_training_graph(of.network, of.batch, of.precision, of.learning).nodes)
      if (node.layer == layer) return node.problem->canonical();
    throw std::invalid_argument(layer);
  }

  Outcome outcome() {
    TimingOptions timing;
    if (cheats_on_gpu()) timing.max_time = 0.05;
    return run_case([&] { return make_training_workload(run_, plugins_, *ranks_); }, *ranks_,
                    timing);
  }

  /// Choices by the names of nodes.
  std::map<std::string, Choice> chosen() {
    auto made = Trainer::make(run_.trainer, plugins_, *ranks_);
    if (const auto* const refusal = std::get_if<Unsupported>(&made))
      throw std::runtime_error(refusal->reason);
    Trainer& trainer = *std::get<std::unique_ptr<Trainer>>(made);
    load_random(trainer, 1);
    trainer.prepare();
    std::map<std::string, Choice> all;
    for (std::size_t i = 0; i < trainer.graph().nodes.size(); ++i)
      all[trainer.graph().nodes[i].text()] = trainer.executor().choice(i);
    return all;
  }

  Plugins plugins_{std::vector<std::filesystem::path>{TEST_PLUGINS, BUILT_PLUGINS}};
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  TrainingRun run_;
};

TEST_F(MeasuredChoices, LeaveOutWhatIsFastAndWrong) {
  cheat("idle:" + problem_of("layer2.0.conv1"));
  const Outcome found = outcome();
  EXPECT_EQ(found.status, "ok") << found.reason;
  ASSERT_TRUE(found.execution);
  const std::string& text = found.execution->implementation;
  EXPECT_NE(text.find("left out as wrong: layer2.0.conv1 forward by cheating: dst["),
            std::string::npos)
      << text;
  // The backend `cuda` has more algorithms.
  EXPECT_NE(text.find(cheats_on_gpu() ? "; and " : "; and 2 more"), std::string::npos) << text;
  int layers = 0;
  for (const LayerTime& layer : found.layers) {
    if (layer.layer != "layer2.0.conv1") continue;
    ++layers;
    EXPECT_EQ(layer.backend, cheating_and_others().at(1)) << layer.direction;
  }
  EXPECT_EQ(layers, 3);
}

TEST_F(MeasuredChoices, OfNothingThatIsRightAreNone) {
  cheat("idle:" + problem_of("layer2.0.conv1"));
  without_native();
  const Outcome found = outcome();
  EXPECT_EQ(found.status, "failed");
  EXPECT_NE(found.reason.find("layer2.0.conv1 forward by cheating"), std::string::npos)
      << found.reason;
}

TEST_F(MeasuredChoices, VaryAlgorithms) {
  cheat("slow_choice");
  without_native();
  const Choice made = chosen().at("layer1.0.conv1 forward");
  EXPECT_EQ(made.backend, "cheating");
  EXPECT_NE(made.algorithm, "");
}

/// An algorithm may be right within its own bounds, but too coarse for the network.
TEST_F(MeasuredChoices, HaveNoAlgorithmThatIsTooCoarse) {
  cheat("coarse_algorithms");
  without_native();
  for (const auto& [node, choice] : chosen())
    if (node.starts_with("layer1.0.conv1")) {
      EXPECT_EQ(choice.algorithm, "") << node;
    }
}

/// The first loss scale of fp16 is one that overflows.
TEST_F(MeasuredChoices, AreMadeOfGradientsThatAreFinite) {
  cheat("");
  run_.trainer.precision = Precision::fp16;
  run_.trainer.loss_scale = parse_loss_scale("--loss-scale", "dynamic:16777216:2");
  EXPECT_FALSE(chosen().empty());
}

}  // namespace
}  // namespace assay
