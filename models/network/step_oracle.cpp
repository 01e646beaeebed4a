#include "models/network/step_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "core/api/precision.hpp"
#include "models/network/claimed_error.hpp"
#include "models/network/claimed_rate.hpp"
#include "models/network/claimed_scale.hpp"
#include "models/network/parameters.hpp"
#include "models/network/state_oracle.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_elements = 64, neighbours = 8;  // of a parameter; read with one copy
constexpr double momentum_of_statistics = 0.1;              // PyTorch's default
/// Moving averages are fp64 on both sides.
constexpr double tolerance_of_statistics = 1e-12;

/// True if weight decay applies. It applies to filters and to the last layer's matrix ("….weight"),
/// but not to biases and normalizations (layers with statistics).
bool decays(const std::string& parameter, const std::vector<Statistics>& normalizations) {
  const std::string suffix = ".weight";
  if (!parameter.ends_with(suffix)) return false;
  const std::string layer = parameter.substr(0, parameter.size() - suffix.size());
  return std::ranges::none_of(
      normalizations, [&](const Statistics& statistics) { return statistics.name == layer; });
}

}  // namespace

StepClaims::StepClaims(const Settings& settings, const DefinedInput& network)
    : update(settings),
      weight_decay(settings.contains("weight_decay") ? std::stod(settings.at("weight_decay"))
                                                     : 1e-4),
      batch(std::stoll(settings.at("batch"))),
      passes(std::stoll(settings.at("accumulate"))),
      ranks(std::stoll(settings.at("ranks"))),
      lags(settings.at("lag") == "1"),
      smoothing(std::stod(settings.at("smoothing"))),
      labels(network.labels),
      class_factors(network.class_factors),
      loss_scale(settings.at("loss_scale")),
      rate(ClaimedRate(settings, 0).constant()) {
  if (const std::string& wire = settings.at("wire"); wire != "none")
    wire_bits = wire == "bf16" ? 8 : 11;
}

StepOracle::StepOracle(const StepClaims& claims, const Executor& executor, Communicator& ranks)
    : claims_(claims), rate_(claims.rate), executor_(executor), ranks_(ranks), masks_(executor) {
  const Graph& graph = executor_.graph();
  for (std::size_t i = 0; i < graph.parameters.size(); ++i)
    parameter_of_[graph.parameters[i].gradient] = i;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.layer == "loss") loss_ = i;
    if (node.phase == Phase::update) update_ = i;
    if (node.problem->kind() != "norm" || node.phase != Phase::forward) continue;
    const std::vector<std::int64_t>& src =
        graph.value(node.tensors.at("src")).dims;  // [n, c, h, w]
    normalizations_.push_back({node.layer, src[1], graph.value(node.tensors.at("mean")).offset,
                               graph.value(node.tensors.at("variance")).offset,
                               static_cast<double>(src[0] * src[2] * src[3])});
  }
}

void StepOracle::add(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void StepOracle::select(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  observed_.clear();
  elements_ = 0;
  for (const Parameter& parameter : executor_.graph().parameters) {
    ObservedParameter observed{{}, elements_, decays(parameter.name, executor_.graph().statistics)};
    const std::int64_t all = parameter.elements();
    for (std::int64_t i = 0; i < std::min(all, most_elements); ++i) {
      const bool few = all <= most_elements;
      const std::int64_t at =
          few ? i
          : i % neighbours == 0
              ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all - neighbours))
              : observed.at.back() - parameter.offset + 1;
      observed.at.push_back(parameter.offset + at);
    }
    elements_ += observed.at.size();
    observed_.push_back(std::move(observed));
  }
}

/// The observed elements of one parameter, from a value that contains all parameters.
void StepOracle::read(ValueIndex value, const ObservedParameter& parameter,
                      std::span<double> to) const {
  const DataType type = executor_.graph().value(value).type;
  const std::size_t size = size_of(type), count = parameter.at.size();
  const std::shared_ptr<void> memory = executor_.memory(value);
  std::vector<std::byte> bytes(count * size);
  for (std::size_t i = 0, next = 1; i < count; i = next++) {
    while (next < count && parameter.at[next] == parameter.at[next - 1] + 1) ++next;
    executor_.device().copy(bytes.data() + i * size,
                            static_cast<const std::byte*>(memory.get()) +
                                static_cast<std::size_t>(parameter.at[i]) * size,
                            (next - i) * size);
  }
  executor_.device().stream().wait();
  decode(type, bytes.data(), to);
}

std::vector<double> StepOracle::read(ValueIndex value) const {
  std::vector<double> values(elements_);
  for (const ObservedParameter& parameter : observed_)
    read(value, parameter, std::span(values).subspan(parameter.first, parameter.at.size()));
  return values;
}

/// All elements of a parameter, from such a value.
std::vector<double> StepOracle::read(ValueIndex value, const Parameter& all_of) const {
  const DataType type = executor_.graph().value(value).type;
  const auto first = static_cast<std::size_t>(all_of.offset),
             count = static_cast<std::size_t>(all_of.elements());
  std::vector<std::byte> bytes(count * size_of(type));
  executor_.device().copy(
      bytes.data(),
      static_cast<const std::byte*>(executor_.memory(value).get()) + first * size_of(type),
      bytes.size());
  executor_.device().stream().wait();
  std::vector<double> values(count);
  decode(type, bytes.data(), values);
  return values;
}

double StepOracle::number(ValueIndex value) const { return read_values(executor_, value).front(); }

void StepOracle::begin(const Trainer& trainer, std::uint64_t seed) {
  // While gradients wait, the same elements are needed again, so no others are selected.
  if (!claims_.lags || waiting_.values.empty()) select(seed);
  const Graph& graph = executor_.graph();
  now_ = {std::vector<double>(elements_), std::vector<double>(elements_),
          std::vector<std::int64_t>(graph.parameters.size()), 0};
  expected_running_ = trainer.running_statistics();
  scale_before_ = trainer.loss_scale().state();
  weights_before_ = read(graph.weights);
  velocity_before_ = read(graph.velocity);
  if (claims_.update.has_second() && graph.second != Graph::none)
    second_before_ = read(graph.second);
  weights_ = velocity_ = second_ = {};
  updates_ = 0;
  masks_.begin();
  not_finite_ = 0;
  losses_ = 0;
  fault_.clear();
}

void StepOracle::before(std::size_t node) {
  masks_.before(node);
  if (node == update_) tensors_ = tensors();
}

void StepOracle::after(std::size_t node) {
  const Graph& graph = executor_.graph();
  masks_.after(node);
  // Recorded before the ranks add the gradients, because they may add in place.
  for (const auto& [name, value] : graph.nodes[node].tensors) {
    const auto entry = parameter_of_.find(value);
    if (entry == parameter_of_.end()) continue;
    const ObservedParameter& parameter = observed_[entry->second];
    std::vector<double> gradients(parameter.at.size());
    read(graph.batch_gradients, parameter, gradients);
    ++now_.passes[entry->second];
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      now_.values[parameter.first + i] += gradients[i];
      now_.magnitudes[parameter.first + i] += std::abs(gradients[i]);
    }
  }
  if (node == loss_) {  // the last node of a forward pass
    now_.loss_scale = number(graph.loss_scale);
    average_statistics();
    judge_losses();
  }
  if (node != update_) return;
  ++updates_;
  weights_ = read(graph.weights);
  velocity_ = read(graph.velocity);
  if (!second_before_.empty()) second_ = read(graph.second);
  not_finite_ = read_values(executor_, graph.counts)[0];
  // Determined here, because with a lag the step then swaps the gradients.
  all_finite_ =
      not_finite_ > 0 &&
      std::ranges::all_of(read_values(executor_, graph.nodes[update_].tensors.at("gradient")),
                          [](double g) { return std::isfinite(g); });
}

/// For each parameter: decay, and the norms of the mean gradient (as the update reads it), of the
/// weights, and of lamb's direction.
std::vector<ClaimedTensor> StepOracle::tensors() const {
  std::vector<ClaimedTensor> all;
  for (const ObservedParameter& parameter : observed_)
    all.push_back(
        {.decay = parameter.decays ? claims_.weight_decay : 0, .adapts = parameter.decays});
  if (!claims_.update.reads_norms()) return all;
  const Graph& graph = executor_.graph();
  const bool directed = claims_.update.is_lamb() && graph.second != Graph::none;
  const double mean = mean_factor(claims_.lags ? waiting_ : now_);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const Parameter& parameter = graph.parameters[p];
    const std::vector<double> gradients =
                                  read(graph.nodes[update_].tensors.at("gradient"), parameter),
                              weights = read(graph.weights, parameter);
    std::vector<double> velocity, second;
    if (directed) {
      velocity = read(graph.velocity, parameter);
      second = read(graph.second, parameter);
    }
    long double of_gradient = 0, of_weights = 0, of_directions = 0;
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const double g = mean * gradients[at], w = weights[at];
      of_gradient += static_cast<long double>(g) * g;
      of_weights += static_cast<long double>(w) * w;
      if (!directed) continue;
      const long double r =
          claims_.update.direction(all[p], update_number(), g, w, velocity[at], second[at]);
      of_directions += r * r;
    }
    all[p].gradient = static_cast<double>(std::sqrt(of_gradient));
    all[p].weights = static_cast<double>(std::sqrt(of_weights));
    all[p].directions = static_cast<double>(std::sqrt(of_directions));
  }
  return all;
}

void StepOracle::average_statistics() {
  const std::vector<double> batch = read_values(executor_, executor_.graph().batch_statistics);
  for (const Normalization& normalization : normalizations_)
    for (std::int64_t c = 0; c < normalization.channels; ++c) {
      const auto mean = static_cast<std::size_t>(normalization.mean + c),
                 variance = static_cast<std::size_t>(normalization.variance + c);
      const double m = normalization.per_channel,
                   unbiased = m > 1 ? batch[variance] * m / (m - 1) : batch[variance];
      for (const auto& [at, value] : {std::pair{mean, batch[mean]}, std::pair{variance, unbiased}})
        expected_running_[at] =
            (1 - momentum_of_statistics) * expected_running_[at] + momentum_of_statistics * value;
    }
}

void StepOracle::judge_passes(const Sums& sums) {
  const std::vector<Parameter>& parameters = executor_.graph().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (sums.passes[i] != claims_.passes)
      add(
          fmt::format("the gradient of {} was computed in {} passes of a step, not in {} "
                      "(--accumulate)",
                      parameters[i].name, sums.passes[i], claims_.passes));
  if (updates_ != 1)
    add(fmt::format("a step has updated the weights {} times, not once", updates_));
}

double StepOracle::mean_factor(const Sums& sums) const {
  return 1 / (static_cast<double>(claims_.ranks * claims_.passes) * sums.loss_scale);
}

void StepOracle::judge_update(const Sums& sums) {
  const Graph& graph = executor_.graph();
  const double u = unit_roundoff(graph.value(graph.weights).type), mean = mean_factor(sums);
  double of_sum = u * static_cast<double>(claims_.ranks + claims_.passes), of_wire = 0;
  if (claims_.wire_bits > 0) of_sum += 2 * std::ldexp(1, -claims_.wire_bits);
  if (claims_.wire_bits == 11)
    of_wire = std::ldexp(1, -25) * static_cast<double>(claims_.ranks + 1);
  for (std::size_t p = 0; p < observed_.size(); ++p) {
    const ObservedParameter& parameter = observed_[p];
    // The bound allows for norms that were computed by adding squares in fp64 one after the other.
    const double of_norms =
        claims_.update.reads_norms()
            ? 0x1p-53 * std::sqrt(static_cast<double>(graph.parameters[p].elements()))
            : 0;
    for (std::size_t i = parameter.first; i < parameter.first + parameter.at.size(); ++i) {
      const ClaimedElement after = claims_.update.element(
          tensors_[p], rate_, update_number(),
          {mean * sums.values[i], mean * (of_sum * sums.magnitudes[i] + of_wire)},
          weights_before_[i], velocity_before_[i], second_before_.empty() ? 0 : second_before_[i],
          u, of_norms);
      const auto expect = [&](const char* what, double value, const ClaimedNumber& expected) {
        if (!(std::abs(value - expected.value) <= expected.error))
          add(
              fmt::format("after a step, element {} of the {} of {} is {} (expected {} within "
                          "{:.3g}, from the gradients of {} ranks and {} passes)",
                          parameter.at[i - parameter.first] - graph.parameters[p].offset, what,
                          graph.parameters[p].name, value, expected.value, expected.error,
                          claims_.ranks, claims_.passes));
      };
      expect("velocity", velocity_[i], after.velocity);
      if (!second_.empty()) expect("second moment", second_[i], after.second);
      expect("weights", weights_[i], after.weight);
    }
  }
}

/// An update may be skipped only if a gradient is not finite, and must then change nothing.
void StepOracle::judge_skipped() {
  if (all_finite_) add("an update was skipped, but all gradients are finite");
  if (weights_ != weights_before_ || velocity_ != velocity_before_ || second_ != second_before_)
    add("an update that was skipped has changed weights or velocities");
}

void StepOracle::judge_copies() {
  const Graph& graph = executor_.graph();
  if (graph.stored == Graph::none) return;
  const std::vector<double> copies = read(graph.stored);
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (const double rounded = round_to(graph.value(graph.stored).type, weights_[i]);
        // Subnormal numbers may be flushed to 0.
        !(std::abs(copies[i] - rounded) <= std::numeric_limits<float>::min()))
      add(fmt::format("a 16-bit copy of a weight is {} (expected {})", copies[i], rounded));
}

void StepOracle::judge_statistics(const std::vector<double>& running) {
  for (const Normalization& normalization : normalizations_)
    for (const std::int64_t first : {normalization.mean, normalization.variance})
      for (std::int64_t c = 0; c < normalization.channels; ++c) {
        const auto at = static_cast<std::size_t>(first + c);
        const double statistic = running[at], expected = expected_running_[at];
        if (std::abs(statistic - expected) <= tolerance_of_statistics * (1 + std::abs(expected)))
          continue;
        // Both may be infinite or NaN after an overflow.
        if (!std::isfinite(statistic) && !std::isfinite(expected)) continue;
        add(fmt::format("the moving {} of channel {} of {} is {} after a step (expected {})",
                        first == normalization.mean ? "mean" : "variance", c, normalization.layer,
                        statistic, expected));
      }
}

/// The loss of a sample, from its logits and labels.
ClaimedLoss StepOracle::compute_claimed_loss(std::span<const double> logits,
                                             std::span<const double> labels, double u) const {
  if (claims_.labels == Labels::none) return compute_claimed_error(logits, labels, u).loss;
  if (claims_.labels == Labels::per_sample)
    return compute_claimed_cross_entropy(logits, static_cast<std::size_t>(labels[0]),
                                         claims_.smoothing, u);
  return compute_claimed_pixels(logits, labels, claims_.class_factors, u).loss;
}

void StepOracle::judge_losses() {
  const Graph& graph = executor_.graph();
  const std::vector<double> logits = read_logits(executor_),
                            // Without labels, the network should return the sample itself.
      labels = read_values(executor_, claims_.labels == Labels::none ? graph.images : graph.labels),
                            losses = read_values(executor_, graph.losses);
  const std::size_t of_sample = logits.size() / losses.size(),
                    labelled = labels.size() / losses.size();
  if (claims_.labels == Labels::per_pixel && claims_.class_factors.size() * labelled != of_sample)
    return add(fmt::format("{} logits of a sample are not those of {} pixels and {} classes",
                           of_sample, labelled, claims_.class_factors.size()));
  const double u = unit_roundoff(graph.value(graph.losses).type);
  double sum = 0;
  for (std::size_t n = 0; n < losses.size(); ++n) {
    const ClaimedLoss expected =
        compute_claimed_loss(std::span(logits).subspan(n * of_sample, of_sample),
                             std::span(labels).subspan(n * labelled, labelled), u);
    sum += losses[n];
    if (std::isfinite(expected.value) && !(std::abs(losses[n] - expected.value) <= expected.bound))
      add(fmt::format("the loss of image {} is {} (expected {} within {:.3g}, with --smoothing {})",
                      n, losses[n], expected.value, expected.bound, claims_.smoothing));
  }
  losses_ += sum / static_cast<double>(losses.size());
  if (claims_.loss_scale == "none" && now_.loss_scale != 1)
    add(fmt::format("the loss is scaled by {}, not by 1", now_.loss_scale));
  if (claims_.loss_scale.starts_with("fixed:") &&
      now_.loss_scale != std::stod(claims_.loss_scale.substr(6)))
    add(fmt::format("the loss is scaled by {} (--loss-scale {})", now_.loss_scale,
                    claims_.loss_scale));
}

/// Judges the numbers that the trainer reports for the step.
void StepOracle::judge_told(const Trainer& trainer) {
  const double mean = losses_ / static_cast<double>(claims_.passes), loss = trainer.loss();
  if (std::isfinite(mean) && !(std::abs(loss - mean) <= 1e-9 * (1 + std::abs(mean))))
    add(fmt::format("the trainer reports the loss {} of a step whose passes have the mean {}", loss,
                    mean));
  // Only a falling scale is judged: during checks the scale may not grow, but it must still fall.
  if (claims_.lags || not_finite_ == 0) return;
  ClaimedScale rule(claims_.loss_scale, false);
  rule.begin(scale_before_, true);
  if (const std::string why = rule.step(trainer.loss_scale().state()); !why.empty()) add(why);
}

/// Compares the observed elements first; if they differ in any bit, all elements decide.
void StepOracle::judge_ranks() {
  if (ranks_.size() == 1) return;
  std::vector<double> seen = read(executor_.graph().weights);
  for (const ValueIndex state : {executor_.graph().velocity, executor_.graph().second})
    if (state != Graph::none) {
      const std::vector<double> more = read(state);
      seen.insert(seen.end(), more.begin(), more.end());
    }
  const std::vector<std::string> all =
      ranks_.allgather(format_fingerprint(std::as_bytes(std::span(seen))));
  if (std::ranges::count(all, all.front()) == std::ssize(all)) return;
  if (const std::string why = find_fault_of_ranks(executor_, ranks_); !why.empty()) add(why);
}

void StepOracle::end(const Trainer& trainer, Verification& verification) {
  Sums& sums = claims_.lags ? waiting_ : now_;
  if (claims_.ranks != ranks_.size())
    add(fmt::format("{} ranks train, not {}", ranks_.size(), claims_.ranks));
  RankCalls calls(ranks_);
  for (std::vector<double>* const array : {&now_.values, &now_.magnitudes}) calls.sum(*array);
  // With a lag, the first of two steps has no update to judge.
  const bool judged = !sums.values.empty();
  if (judged) {
    judge_passes(sums);
    if (fault_.empty() && not_finite_ > 0) judge_skipped();
    if (fault_.empty() && not_finite_ == 0) judge_update(sums);
    if (fault_.empty()) judge_copies();
    verification.checked += 2 * static_cast<std::int64_t>(elements_);
  }
  if (fault_.empty()) judge_told(trainer);
  // With a lag, the previous step's update is not counted yet.
  const std::int64_t steps = scale_before_.steps + (claims_.lags && updates_ > 0 ? 1 : 0);
  if (const std::string why = masks_.fault(steps, claims_.passes, ranks_); !why.empty()) add(why);
  judge_statistics(trainer.running_statistics());
  judge_ranks();
  if (claims_.lags) waiting_ = std::move(now_);
  if (fault_.empty()) return;
  verification.fail(fault_);
  ++verification.wrong_elements;
}

}  // namespace assay
