#include "models/network/self_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/api/random.hpp"
#include "core/base/error.hpp"
#include "core/base/place.hpp"
#include "models/network/parameters.hpp"
#include "models/network/tolerance.hpp"

namespace assay {
namespace {

constexpr int steps_of_check = 5;
/// Each channel of the smallest planes has this many numbers; with fewer, small variances would
/// amplify rounding errors.
constexpr std::int64_t small_batch = 16;
/// The number of ranks and passes with their own images; further ranks and passes reuse these.
constexpr std::size_t most_ranks = 4, most_passes = 3;
/// Learning rate of the steps; a large one would amplify rounding errors from step to step. The
/// rates of the trainer and of the claims are multiplied by the same factor, so a difference
/// between them remains.
constexpr double rate_of_check = 0.01;
/// Filters without a bias are followed by normalizations, so multiplying them by this factor does
/// not change the network. But it makes their gradients smaller and their decay larger, so that the
/// decay becomes visible.
constexpr double larger_filters = 8;
double factor_of_filters(const Graph& graph) {
  return graph.statistics.empty() ? 1 : larger_filters;
}
/// Scale of the last normalization of each block; 1 would amplify rounding errors between blocks.
constexpr double last_norm_of_check = 0.1;

using Data = std::vector<std::vector<ReferenceBatch>>;  // by rank and pass

/// Multiples of 2^-7, which every type represents exactly.
Data data_of_step(const ReferenceNetwork& small, int step, std::size_t ranks, std::size_t passes,
                  std::uint64_t seed) {
  Data all(std::min(ranks, most_ranks));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (std::size_t pass = 0; pass < std::min(passes, most_passes); ++pass) {
      std::vector<double> pixels(place(small_batch * small.input.elements()));
      Values(Values::Kind::fixed, seed, fmt::format("self-check {} {} {}", step, rank, pass),
             DataType::fp32, 7)
          .fill(0, pixels);
      ReferenceBatch batch{{pixels.begin(), pixels.end()}, {}};
      for (std::int64_t image = 0; image < small_batch; ++image)
        for (std::int64_t i = 0; i < labels_of_sample(small.labels, small.input); ++i)
          batch.labels.push_back(
              (7 * image + 2 * step + static_cast<std::int64_t>(5 * rank + 3 * pass) + i) %
              small.classes);
      all[rank].push_back(std::move(batch));
    }
  return all;
}

std::string name_layer(const Parameter& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

/// A layer with a bias is not followed by a normalization.
bool has_bias(const Graph& graph, const Parameter& parameter) {
  const std::string bias = name_layer(parameter) + ".bias";
  return std::ranges::find(graph.parameters, bias, &Parameter::name) != graph.parameters.end();
}

void enlarge_filters(Trainer& trainer) {
  const Graph& graph = trainer.graph();
  std::vector<double> all = read_values(trainer.executor(), graph.weights);
  for (const Parameter& parameter : graph.parameters)
    if (parameter.dims.size() == 4 && !has_bias(graph, parameter))
      for (std::int64_t i = 0; i < parameter.elements(); ++i)
        all[place(parameter.offset + i)] *= factor_of_filters(graph);
  for (const ValueIndex value : {graph.weights, graph.stored})
    if (value != Graph::none) put_values(trainer.executor(), value, all);
}

std::unique_ptr<Trainer> small_trainer(const TrainerSettings& settings, Plugins& plugins,
                                       Communicator& ranks,
                                       const std::shared_ptr<Communicator>& gradients) {
  auto trainer = Trainer::make(settings, plugins, ranks, gradients);
  if (const auto* const refusal = std::get_if<Unsupported>(&trainer)) {
    if (settings.executor.chosen.empty())
      throw CaseError("--self-check: the small network cannot be computed: " + refusal->reason);
    TrainerSettings free = settings;  // choices of a larger network may not fit
    free.executor.chosen.clear();
    return small_trainer(free, plugins, ranks, gradients);
  }
  return std::move(std::get<std::unique_ptr<Trainer>>(trainer));
}

/// The weights after all steps. If gradients overflow, the loss scale is halved and all steps are
/// repeated, because the reference skips no step.
std::pair<std::unique_ptr<Trainer>, std::vector<double>> train_small(
    TrainerSettings settings, double rate, const std::vector<Data>& data, Plugins& plugins,
    Communicator& ranks, const std::shared_ptr<Communicator>& gradients) {
  for (;;) {
    auto trainer = small_trainer(settings, plugins, ranks, gradients);
    trainer->let_loss_scale_grow(false);
    enlarge_filters(*trainer);
    for (std::size_t step = 0; step < data.size(); ++step) {
      const std::vector<ReferenceBatch>& mine = data[step][place(ranks.rank()) % data[step].size()];
      std::size_t next = 0;
      const auto load = [&] {
        const ReferenceBatch& batch = mine[next++ % mine.size()];
        trainer->load(std::span(batch.images), batch.labels);
      };
      load();
      if (step == 0) trainer->prepare();
      trainer->step(rate, nullptr, load);
    }
    if (trainer->loss_scale().skipped() == 0 ||
        settings.loss_scale.kind == LossScaleSettings::Kind::none ||
        settings.loss_scale.start <= least_loss_scale) {
      std::vector<double> weights = read_values(trainer->executor(), trainer->graph().weights);
      return {std::move(trainer), std::move(weights)};
    }
    settings.loss_scale.start /= 2;
  }
}

ReferenceTrainer train_by_reference(const ReferenceNetwork& small, const ReferenceClaims& claims,
                                    const ReferenceStart& start, const std::vector<Data>& data) {
  ReferenceTrainer reference(small, claims, start);
  for (const Data& of_step : data) {
    std::vector<std::vector<const ReferenceBatch*>> batches(place(claims.ranks));
    for (std::size_t rank = 0; rank < batches.size(); ++rank)
      for (std::size_t pass = 0; pass < place(claims.passes); ++pass)
        batches[rank].push_back(&of_step[rank % of_step.size()][pass % of_step.front().size()]);
    reference.step(batches);
  }
  return reference;
}

/// The sums of one parameter that a TrainingDifference is made of.
struct ChangeSums {
  double error = 0, expected = 0, along = 0, initial = 0, found_decay = 0, expected_decay = 0;

  ChangeSums() = default;
  ChangeSums(const double* weights, const ReferenceParameter& by) {
    for (std::size_t i = 0; i < by.values.size(); ++i) {
      const double start = by.initial[i], is = weights[i] - start, should = by.values[i] - start;
      error += (is - should) * (is - should);
      expected += should * should;
      along += is * should;
      initial += start * start;
      found_decay += is * start;
      expected_decay += should * start;
    }
  }
  /// The error beyond one rounding of the weights in each step. NaN if both the error and the
  /// expected change are 0.
  double relative(double roundoff) const {
    const double beyond = std::sqrt(error) - steps_of_check * roundoff * std::sqrt(initial);
    return beyond < 0 ? 0 : beyond / std::sqrt(expected);
  }
  void add(const ChangeSums& other) {
    error += other.error;
    expected += other.expected;
    initial += other.initial;
  }
};

TrainingDifference difference(const Trainer& trainer, const std::vector<double>& weights,
                              const ReferenceParameters& expected) {
  const Graph& graph = trainer.graph();
  const std::string last = name_layer(graph.parameters.back());
  const double u = unit_roundoff(graph.value(graph.weights).type);
  TrainingDifference all;
  if (graph.parameters.size() != expected.size()) {
    all.largest = std::numeric_limits<double>::infinity();
    all.parameter = "the network";
    return all;
  }
  std::optional<ChangeSums> small;  // a network of one layer has none
  double found_decay = 0, expected_decay = 0;
  for (const Parameter& parameter : graph.parameters) {
    const auto by = expected.find(parameter.name);
    if (by == expected.end() || by->second.values.size() != place(parameter.elements())) {
      all.largest = std::numeric_limits<double>::infinity();
      all.parameter = parameter.name;
      return all;
    }
    const ChangeSums sums(weights.data() + parameter.offset, by->second);
    const bool is_last = name_layer(parameter) == last, is_weights = parameter.dims.size() > 1;
    if (!is_last && !is_weights) {
      small.emplace(small.value_or(ChangeSums())).add(sums);
      continue;
    }
    const double relative = sums.relative(u), of_length = std::abs(sums.along / sums.expected - 1);
    if (!(relative <= all.largest)) {  // true for NaN
      all.largest = relative;
      all.parameter = parameter.name;
    }
    double& length = is_last ? all.last_length : all.length;
    length = std::max(of_length, length);
    // In other layers the gradient has a component along the weights, which hides their decay.
    if (is_last || parameter.dims.size() != 4 || graph.statistics.empty() ||
        has_bias(graph, parameter))
      continue;
    found_decay += sums.found_decay / sums.initial;
    expected_decay += sums.expected_decay / sums.initial;
  }
  if (small) all.normalizations = small->relative(u);
  if (expected_decay != 0) all.decay = std::abs(found_decay / expected_decay - 1);
  return all;
}

}  // namespace

TrainingTolerance training_tolerance(DataType operands, bool sent_in_16_bits) {
  // Measured: native and onednn, depth 18 and 50, 5 to 7 seeds of each optimizer, with and without
  // lag, accumulation, smoothing and emulation (docs/method-training.md).
  if (operands == DataType::bf16 || sent_in_16_bits) return {1.2, 0.8, 0.3, 0.01, 0.05};
  if (operands == DataType::fp16) return {0.5, 0.35, 0.08, 0.003, 0.02};
  if (operands == DataType::fp32) return {0.1, 0.1, 0.01, 0.003, 0.01};
  return {1e-7, 1e-7, 1e-7, 1e-7, 1e-7};
}

namespace {

/// Optimizers with second moments need larger tolerances: if a gradient is near 0, its rounding
/// decides the sign of a whole step, so a change may be wrong by twice its length. In 16 bits the
/// decay is smaller than this error.
TrainingTolerance with_moments(TrainingTolerance tolerance, bool narrow) {
  if (!narrow)
    return {5 * tolerance.largest, 5 * tolerance.normalizations, 10 * tolerance.length,
            10 * tolerance.last_length, 20 * tolerance.decay};
  return {2, 1.5, 0.7, 0.5, std::numeric_limits<double>::infinity()};
}

}  // namespace

TrainingDifference training_difference(const TrainerSettings& trainer, double rate,
                                       const ReferenceNetwork& small, const ReferenceClaims& claims,
                                       Plugins& plugins, Communicator& ranks,
                                       const std::shared_ptr<Communicator>& gradients) {
  TrainerSettings settings = trainer;
  settings.network = trainer.network.make_small();
  settings.batch = small_batch;
  settings.learning.last_norm = last_norm_of_check;
  settings.executor.measured = false;
  settings.executor.memory.clear();
  ReferenceClaims claimed = claims;
  claimed.batch = small_batch;
  claimed.rate = rate_of_check;
  std::vector<Data> data;
  for (int step = 0; step < steps_of_check; ++step)
    data.push_back(
        data_of_step(small, step, place(claims.ranks), place(claims.passes), trainer.seed));
  const auto [trainer_after, weights] =
      train_small(settings, rate * (rate_of_check / claims.rate), data, plugins, ranks, gradients);
  const ReferenceTrainer reference = train_by_reference(
      small, claimed, {trainer.seed, factor_of_filters(trainer_after->graph()), last_norm_of_check},
      data);
  return difference(*trainer_after, weights, reference.parameters());
}

namespace {

/// The differences of one small training, and the allowed ones.
struct SmallTraining {
  TrainingDifference is;
  TrainingTolerance allowed;
  std::string how;
};

SmallTraining train_as_claimed(const TrainerSettings& settings, double rate,
                               const ReferenceNetwork& small, const Settings& claims,
                               Plugins& plugins, Communicator& ranks,
                               const std::shared_ptr<Communicator>& gradients) {
  const DataType operands = operand_type(settings.precision);
  SmallTraining training{
      training_difference(settings, rate, small, ReferenceClaims(claims), plugins, ranks,
                          gradients),
      training_tolerance(operands, ranks.size() > 1 && claims.at("wire") != "none"), ""};
  if (find_loop(settings.learning.rule) != UpdateLoop::momentum && operands != DataType::fp64)
    training.allowed = with_moments(training.allowed, size_of(operands) == 2);
  return training;
}

/// A training in 16 bits with second moments proves little. Layers and their connections are the
/// same in fp32 with SGD, so this training checks them.
SmallTraining by_sgd_in_fp32(TrainerSettings settings, double rate, const ReferenceNetwork& small,
                             Settings claims, Plugins& plugins, Communicator& ranks) {
  settings.precision = Precision::fp32;
  settings.learning.rule = UpdateRule::sgd;
  settings.learning.momentum = 0.9;
  settings.learning.narrow_gradients = false;
  settings.loss_scale = {LossScaleSettings::Kind::none};
  settings.executor.wide_products = false;
  settings.executor.chosen.clear();
  claims["optimizer"] = "sgd";
  return {
      training_difference(settings, rate, small, ReferenceClaims(claims), plugins, ranks, nullptr),
      training_tolerance(DataType::fp32, false), " by SGD in fp32"};
}

}  // namespace

void self_check(Trainer& trainer, double rate, const ReferenceNetwork& small,
                const Settings& claims, Plugins& plugins, Communicator& ranks,
                const std::shared_ptr<Communicator>& gradients, Verification& verification) {
  Trainer::State waited;  // saving waits for sums in progress: no other sums may begin during them
  if (trainer.graph().lags()) trainer.save(waited);
  TrainerSettings settings = trainer.settings();
  settings.executor.chosen = trainer.executor().list_chosen();
  std::vector<SmallTraining> all{
      train_as_claimed(settings, rate, small, claims, plugins, ranks, gradients)};
  if (find_loop(settings.learning.rule) != UpdateLoop::momentum &&
      size_of(operand_type(settings.precision)) == 2)
    all.push_back(by_sgd_in_fp32(settings, rate, small, claims, plugins, ranks));
  for (const auto& [is, allowed, how] : all) {
    const auto expect = [&, how = how](double difference, double most, const std::string& what) {
      ++verification.checked;
      if (difference <= most) return;  // false for NaN
      verification.fail(fmt::format(
          "--self-check: after {} steps of a small network{}, {} differs by {:.3g} from that of a "
          "reference that trains as the parameters of the case say (at most {:.3g} is allowed)",
          steps_of_check, how, what, difference, most));
      ++verification.wrong_elements;
    };
    expect(is.largest, allowed.largest, "the change of " + is.parameter);
    expect(is.normalizations, allowed.normalizations, "the change of normalizations and biases");
    expect(is.length, allowed.length, "the length of the change of a layer's weights");
    expect(is.last_length, allowed.last_length, "the length of the last layer's change");
    expect(is.decay, allowed.decay, "the decay of the filters");
  }
  verification.outputs = verification.checked;
  verification.reference +=
      fmt::format("; {} steps of a small network by a reference trainer", steps_of_check);
}

}  // namespace assay
