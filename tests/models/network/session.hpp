#pragma once
// A small training to an accuracy, for tests.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/network/convergence.hpp"
#include "models/network/learnable_images.hpp"
#include "models/network/parameters.hpp"
#include "models/network/training_oracle.hpp"
#include "models/resnet50/definition.hpp"
#include "trainers.hpp"

namespace assay::network_test {

struct Session {
  std::unique_ptr<Communicator> ranks = make_serial_communicator();
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Batches> training, validation;
  ConvergenceSettings settings;

  explicit Session(std::uint64_t seed, std::int64_t width = 8, std::int64_t images = 320,
                   Precision precision = Precision::fp32, const char* scale = "none",
                   std::int64_t accumulate = 1, bool emulated = false, std::int64_t lag = 0,
                   std::int64_t batch = 32, bool narrow_gradients = false,
                   UpdateRule rule = UpdateRule::sgd) {
    TrainerSettings of = network_test::small_settings("native");
    of.network = make_resnet({18, width, 32, 10});
    of.batch = batch;
    of.accumulate = accumulate;
    of.lag = lag;
    of.precision = precision;
    of.loss_scale = parse_loss_scale("--loss-scale", scale);
    of.executor.threads = 1;
    of.executor.wide_products = emulated;
    of.learning.narrow_gradients = narrow_gradients;
    of.learning.rule = rule;
    of.seed = seed;
    trainer = made(of, *ranks);
    auto found = Evaluator::make(*trainer, plugins(), *ranks);
    evaluator = std::move(std::get<std::unique_ptr<Evaluator>>(found));
    const auto learnable = std::make_shared<const LearnableImages>(LearnableSettings{10, 32, seed});
    training = make_learnable_batches(learnable, images, {batch, 0, 1, true, seed});
    validation = make_learnable_batches(learnable, 300, {batch, 0, 1, false, seed});
    settings.epochs = 2;
    settings.rate = 0.1;
    settings.decay.kind = Decay::Kind::cosine;
  }
  /// The parameters of a case that makes this training.
  Settings claims() const {
    const TrainerSettings& of = trainer->settings();
    return {{"problem", of.network.descriptor},
            {"data", fmt::format("learnable:n{}v{}", training->samples(), validation->samples())},
            {"validation", "none"},
            {"augment", "crop+flip"},
            {"label_base", "0"},
            {"max_bad_samples", "0"},
            {"batch", std::to_string(of.batch)},
            {"accumulate", std::to_string(of.accumulate)},
            {"ranks", std::to_string(ranks->size())},
            {"lag", std::to_string(of.lag)},
            {"loss_scale", to_text(of.loss_scale)},
            {"trial", "0"},
            {"rate", fmt::format("{}", settings.rate)},
            {"scaling", "none"},
            {"schedule", to_text(settings.decay)},
            {"warmup", std::to_string(settings.warmup_epochs)},
            {"epochs", std::to_string(settings.epochs)},
            {"target", fmt::format("{}", settings.target)}};
  }
  NetworkDefinition definition() const {
    return define_resnet(trainer->settings().network.descriptor);
  }
  Convergence train() { return train(claims()); }
  /// Judged by these parameters.
  Convergence train(const Settings& claimed) {
    TrainingOracle oracle(claimed, define_resnet(claimed.at("problem")), trainer->settings().seed,
                          *ranks);
    ConvergenceSettings judged = settings;
    judged.oracle = &oracle;
    return assay::train(*trainer, *evaluator, *training, *validation, *ranks, judged);
  }
  std::vector<double> weights() {
    return read_values(trainer->executor(), trainer->graph().weights);
  }
};

}  // namespace assay::network_test
