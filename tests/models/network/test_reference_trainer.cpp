// The trainer against the simplest loop that is right, which shares no code with it.

#include "models/network/reference_trainer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/api/random.hpp"
#include "models/network/parameters.hpp"
#include "models/resnet50/definition.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/reference_claims.hpp"

namespace assay {
namespace test_reference_trainer {

using network_test::claimed_settings;
using network_test::small_claims;

constexpr int steps_of_test = 5;

struct Trained {
  std::map<std::string, std::vector<double>> weights, velocities, running;  ///< by parameter, layer
  std::vector<double> losses;                                               ///< of all steps
};

/// Indexed by [step][rank][pass].
using Data = std::vector<std::vector<std::vector<ReferenceBatch>>>;

Data data_of(const Settings& claims) {
  const ResnetShape shape = parse_resnet(claims.at("problem"));
  const std::size_t batch = std::stoull(claims.at("batch")),
                    passes = std::stoull(claims.at("accumulate")),
                    ranks = std::stoull(claims.at("ranks"));
  Data all(steps_of_test, std::vector(ranks, std::vector<ReferenceBatch>(passes)));
  std::uint64_t seed = 100;
  for (auto& of_step : all)
    for (auto& of_rank : of_step)
      for (ReferenceBatch& one : of_rank) {
        std::vector<double> pixels(batch * 3 * static_cast<std::size_t>(shape.image * shape.image));
        Values(Values::Kind::mantissa, ++seed, "images", DataType::fp32, 0).fill(0, pixels);
        one.images.assign(pixels.begin(), pixels.end());
        for (std::size_t i = 0; i < batch; ++i)
          one.labels.push_back(static_cast<std::int64_t>(3 * i + seed) % shape.classes);
      }
  return all;
}

/// The result of the product's trainer, on rank 0.
Trained trained_by_product(const TrainerSettings& settings, double rate, const Data& data) {
  Trained found;
  const int ranks = static_cast<int>(data[0].size());
  testing_fakes::on_threads(ranks, [&](Communicator& all) {
    const auto trainer = network_test::made(settings, all);
    for (const auto& of_step : data) {
      const auto& mine = of_step[static_cast<std::size_t>(all.rank())];
      std::size_t next = 0;
      const auto load = [&] {
        trainer->load(std::span(mine[next].images), mine[next].labels);
        ++next;
      };
      load();
      trainer->step(rate, nullptr, load);
      if (all.rank() == 0) found.losses.push_back(trainer->loss());
    }
    if (all.rank() != 0) return;
    const Graph& graph = trainer->graph();
    const auto part = [](const std::vector<double>& whole, std::int64_t first, std::int64_t count) {
      return std::vector<double>(whole.begin() + first, whole.begin() + first + count);
    };
    for (const Parameter& each : graph.parameters) {
      found.weights[each.name] =
          part(read_values(trainer->executor(), graph.weights), each.offset, each.elements());
      found.velocities[each.name] =
          part(read_values(trainer->executor(), graph.velocity), each.offset, each.elements());
    }
    for (const Statistics& each : graph.statistics) {
      const std::vector<double>& running = trainer->running_statistics();
      found.running[each.name + " mean"] = part(running, each.mean, each.channels);
      found.running[each.name + " variance"] = part(running, each.variance, each.channels);
    }
  });
  return found;
}

ReferenceNetwork defined_network(const Settings& claims) {
  const ResnetShape shape = parse_resnet(claims.at("problem"));
  return reference_resnet(shape.depth, shape.width, shape.image, shape.classes);
}

Trained train_by_reference(const Settings& claims, const Data& data, double last_norm = 1) {
  Trained found;
  ReferenceTrainer trainer(defined_network(claims), ReferenceClaims(claims),
                           {.seed = 3, .last_norm = last_norm});
  for (const auto& of_step : data) {
    std::vector<std::vector<const ReferenceBatch*>> batches;
    for (const auto& of_rank : of_step) {
      batches.emplace_back();
      for (const ReferenceBatch& one : of_rank) batches.back().push_back(&one);
    }
    trainer.step(batches);
    found.losses.push_back(trainer.loss(0));
  }
  for (const auto& [name, parameter] : trainer.parameters()) {
    found.weights[name] = parameter.values;
    found.velocities[name] = parameter.velocity;
  }
  for (const auto& [layer, statistics] : trainer.running(0)) {
    found.running[layer + " mean"] = statistics.mean;
    found.running[layer + " variance"] = statistics.variance;
  }
  return found;
}

/// The largest relative difference of a tensor.
double difference(const std::map<std::string, std::vector<double>>& found,
                  const std::map<std::string, std::vector<double>>& expected) {
  double largest = found.size() == expected.size() ? 0 : INFINITY;
  for (const auto& [name, values] : expected) {
    const auto at = found.find(name);
    if (at == found.end() || at->second.size() != values.size()) return INFINITY;
    largest = std::max(largest, network_test::difference(at->second, values));
  }
  return largest;
}

/// The largest difference of weights, velocities, statistics and losses.
double difference(const Trained& found, const Trained& expected) {
  return std::max({difference(found.weights, expected.weights),
                   difference(found.velocities, expected.velocities),
                   difference(found.running, expected.running),
                   network_test::difference(found.losses, expected.losses)});
}

/// The difference between the product and the reference, where both do what `claims` say.
double difference(const Settings& claims, double last_norm = 1) {
  const Data data = data_of(claims);
  TrainerSettings settings = claimed_settings(claims, "reference", Precision::fp64);
  settings.learning.last_norm = last_norm;
  return difference(trained_by_product(settings, ReferenceClaims(claims).rate, data),
                    train_by_reference(claims, data, last_norm));
}

TEST(ReferenceTrainer, TheTrainerLearnsTheSame) {
  for (const std::string& optimizer : list_names<UpdateRule>())
    for (const char* lag : {"0", "1"})
      for (const char* accumulate : {"1", "3"})
        EXPECT_LT(difference(small_claims({{"optimizer", optimizer},
                                           {"lag", lag},
                                           {"accumulate", accumulate},
                                           {"smoothing", "0.1"}})),
                  1e-9)
            << optimizer << ", lag " << lag << ", " << accumulate;
}

TEST(ReferenceTrainer, TheTrainerLearnsTheSameOnTwoRanks) {
  for (const char* lag : {"0", "1"})
    EXPECT_LT(difference(small_claims({{"ranks", "2"}, {"lag", lag}, {"accumulate", "3"}})), 1e-9)
        << lag;
}

/// The rate is not scaled. Blocks that begin with a small last scale amplify less.
TEST(ReferenceTrainer, ADeepNetworkLearnsTheSame) {
  const Settings claims = small_claims(
      {{"problem", "d50w4s32c5"}, {"rate", "0.01"}, {"scaling", "none"}, {"smoothing", "0.1"}});
  EXPECT_LT(difference(claims, 0.1), 1e-9);
}

/// Otherwise the tests above would prove nothing.
TEST(ReferenceTrainer, ATrainerThatDoesSomethingElseDiffers) {
  for (const auto& [what, others, change] : network_test::falsified_trainers()) {
    const Settings claims = small_claims(others);
    const Data data = data_of(claims);
    TrainerSettings settings = claimed_settings(claims, "reference", Precision::fp64);
    double rate = ReferenceClaims(claims).rate;
    change(settings, rate);
    EXPECT_GT(
        difference(trained_by_product(settings, rate, data), train_by_reference(claims, data)),
        1e-5)
        << what << " instead of " << claims.at("optimizer");
  }
}

}  // namespace test_reference_trainer
}  // namespace assay
