// Scores of samples, and their judge.
#include "models/network/scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/network/claimed_error.hpp"
#include "models/network/evaluation_oracle.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/network/training_data.hpp"
#include "tests/core/result_fixture.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_scores {

TEST(ClaimedError, ByHand) {
  const std::vector<double> x{1, 2, 3}, t{1, 0, -1}, equal{5, 5, 5};
  EXPECT_NEAR(compute_claimed_error(x, t, 0).loss.value, 20.0 / 3, 1e-15);
  EXPECT_NEAR(compute_claimed_error(x, t, 0).correlation.value, -1, 1e-15);
  EXPECT_EQ(compute_claimed_error(x, equal, 0).correlation.value, 0);
  EXPECT_EQ(compute_claimed_error(equal, t, 0).correlation.value, 0);
  const std::vector<double> far{1e8 + 1, 1e8 + 2, 1e8 + 4}, near{1, 2, 4};
  EXPECT_NEAR(compute_claimed_error(far, near, 0).correlation.value, 1, 1e-12);
}

/// A trainer of a small P1B1 that has run on a batch of learnable data.
struct Autoencoder {
  std::unique_ptr<Communicator> ranks = make_serial_communicator();
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Batches> batches;
  NetworkDefinition definition;
  Settings claims{{"data", "learnable:n64v64"}, {"validation", "none"},   {"augment", "crop+flip"},
                  {"label_base", "0"},          {"max_bad_samples", "0"}, {"batch", "8"},
                  {"accumulate", "1"},          {"ranks", "1"},           {"trial", "0"}};

  explicit Autoencoder(Precision precision) {
    const NamedNetwork of = find_named_network("candle-p1b1");
    TrainerSettings settings = network_test::small_settings("native");
    settings.network = of.family->network("i40w24n8");
    settings.precision = precision;
    settings.batch = 8;
    definition = of.family->definition("i40w24n8");
    trainer = network_test::made(settings, *ranks);
    TrainingData data;
    data.data = claims.at("data");
    data.input = settings.network.input;
    data.labels = Labels::none;
    batches = make_validation_batches(data, {8, 0, 1, false, 1});
  }
  Executor& executor() { return trainer->executor(); }
};

/// The message of the oracle about a batch that `damage` has changed after the network has run.
template <class Damage>
std::string fault_after(Precision precision, const Damage& damage) {
  Autoencoder of(precision);
  const BatchOracle data(DataClaims(of.claims, of.definition.input, 1), 0);
  EvaluationOracle oracle(data, *of.ranks);
  const Batch& batch = of.batches->next();
  put_batch(of.executor(), batch.images, batch.labels);
  oracle.judge_images(of.executor(), batch);
  of.executor().run(Phase::forward);
  damage(of.executor());
  oracle.judge_results(of.executor(), batch);
  return oracle.fault();
}

TEST(Scores, PoisonLeavesNoneOfARunBefore) {
  Autoencoder of(Precision::fp32);
  const Batch& batch = of.batches->next();
  put_batch(of.executor(), batch.images, batch.labels);
  of.executor().run(Phase::forward);
  for (const double score : read_scores(of.executor())) EXPECT_TRUE(std::isfinite(score));
  of.executor().poison();
  for (const double score : read_scores(of.executor())) EXPECT_FALSE(std::isfinite(score));
}

void change(Executor& executor, ValueIndex value, double by) {
  std::vector<double> all = read_values(executor, value);
  all[3] += by;
  executor.device().put(executor.tensor(value), [&](std::int64_t first, std::span<double> out) {
    std::copy_n(all.begin() + first, out.size(), out.begin());
  });
}

TEST(EvaluationOracle, JudgesCorrelations) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16}) {
    EXPECT_EQ(fault_after(precision,
                          [](Executor& executor) {
                            const std::vector<double> scores = read_scores(executor);
                            EXPECT_EQ(scores, read_values(executor, executor.graph().correlations));
                          }),
              "");
    EXPECT_SAYS(fault_after(precision,
                            [](Executor& executor) {
                              change(executor, executor.graph().correlations, 1e-4);
                            }),
                "image 3 of a validated batch scores");
    EXPECT_SAYS(
        fault_after(precision,
                    [](Executor& executor) { change(executor, executor.graph().losses, 1e-4); }),
        "the loss of image 3");
  }
}

TEST(P1b1, HasTheOriginalsParametersAndWork) {
  const NamedNetwork of = find_named_network("candle-p1b1");
  const Network network = of.family->network(of.family->canonical(of.fields));
  const Graph graph = make_training_graph(network, 100, Precision::fp32, {});
  std::int64_t parameters = 0;
  for (const Parameter& parameter : graph.parameters) parameters += parameter.elements();
  EXPECT_EQ(parameters, 244397083);
  EXPECT_NEAR(graph.flops() / 100, 1.224e9, 0.0005e9);
  EXPECT_EQ(network.quality, Quality::correlation);
}

}  // namespace test_scores
}  // namespace assay
