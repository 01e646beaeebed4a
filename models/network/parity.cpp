#include "models/network/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "core/base/error.hpp"
#include "core/measure/buffer_sets.hpp"
#include "kernels/convert/problem.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/tolerance.hpp"

namespace assay {
namespace {

constexpr std::int64_t least_images = 2, least_of_channel = 32;

/// A gradient's rounding errors are at most so many times the change that it takes where the layers
/// read values that are rounded once more. In 16 bits, rounding each value that a layer stores
/// exceeds that of sums; in fp32 sums have the larger errors. Measured with one channel: 3 and 42.
double most_roundings(DataType stored) { return size_of(stored) < 4 ? 8 : 64; }
constexpr int most_draws = 8;
constexpr double surely_wrong = 100;
/// Rounding makes no 0 of a gradient that it changes by less than this part of its norm.
constexpr double least_change_to_zero = 0.5;

struct Comparison {
  Verification verification;
  struct Difference {
    std::string of;
    std::size_t at, count;  ///< elements in the buffer of gradients
    double relative;
    bool zero;  ///< nothing else was computed
    std::span<const double> part(const std::vector<double>& all) const {
      return std::span(all).subspan(at, count);
    }
  };
  std::vector<Difference> gradients;  ///< that differ by more than is allowed

  /// Compares `count` elements of the gradients: those of a parameter, or all.
  void compare(const std::string& what, std::size_t at, std::size_t count,
               const std::vector<double>& is, const std::vector<double>& should, double tolerance) {
    Difference now{what, at, count, 0, false};
    const std::span<const double> part = now.part(is);
    now.relative = relative_difference(part, now.part(should));
    now.zero = std::all_of(part.begin(), part.end(), [](double v) { return v == 0; });
    if (!(now.relative <= tolerance)) gradients.push_back(now);
    compare(what, part, now.part(should), tolerance);
  }

  void compare(const std::string& what, std::span<const double> is, std::span<const double> should,
               double tolerance) {
    const double relative = relative_difference(is, should);
    verification.checked += static_cast<std::int64_t>(is.size());
    if (relative > verification.norm_error) verification.norm_error = relative;
    if (relative <= tolerance) return;  // false for what is no number
    verification.fail(fmt::format(
        "{} of the network differs by {:.3g} of its 2-norm from fp64 (at most {:.3g} is allowed)",
        what, relative, tolerance));
    verification.wrong_elements += static_cast<std::int64_t>(is.size());
  }
};

bool are_finite(const std::vector<double>& all) {
  return std::all_of(all.begin(), all.end(), [](double v) { return std::isfinite(v); });
}

/// Whether gradients overflowed, and are to be made again with a smaller loss scale.
bool overflowed(Trainer& trainer) {
  if (are_finite(read_values(trainer.executor(), trainer.graph().gradients))) return false;
  trainer.judge_gradients(false);
  return trainer.lowered();
}

Result<std::unique_ptr<Trainer>> made(const TrainerSettings& settings, Plugins& plugins,
                                      Communicator& ranks) {
  auto trainer = Trainer::make(settings, plugins, ranks);
  if (auto* const some = std::get_if<std::unique_ptr<Trainer>>(&trainer)) {
    load_random(**some, settings.seed);
    (*some)->executor().run(Phase::forward);
  }
  return trainer;
}

/// The nodes that graphs of all precisions have, in order: one may convert gradients besides.
std::vector<std::size_t> common_nodes(const Graph& graph) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].problem->kind() != ConvertProblem::kind_name) all.push_back(i);
  return all;
}

/// Gives `to`, after its forward pass, what the backward pass of `from` reads of its own: images,
/// parameters, activations and statistics. Graphs of other precisions number their values
/// otherwise, but have the same common_nodes(). Each element is changed by `change` of it, up or
/// down.
void give(const Executor& from, Executor& to, double change = 0, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const std::vector<std::size_t> ours = common_nodes(from.graph()),
                                 theirs = common_nodes(to.graph());
  std::set<ValueIndex> known;  // given, or gradients, which `to` makes itself
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const GraphNode &source = from.graph().nodes[ours[i]], &target = to.graph().nodes[theirs[i]];
    const bool backward = source.phase == Phase::backward;
    if (!backward && source.problem->kind() != "loss") continue;
    for (const Tensor* const tensor : from.arguments(ours[i])) {
      const TensorSpec& spec = tensor->spec();
      if (!is_input(spec) && !is_output(spec)) continue;
      const ValueIndex value = source.tensors.at(spec.name);
      if (is_output(spec)) {
        known.insert(value);
      } else if (backward && known.insert(value).second) {
        std::vector<double> values = read_values(from, value);
        for (double& element : values) element *= random() % 2 == 0 ? 1 - change : 1 + change;
        to.device().put(to.tensor(target.tensors.at(spec.name)),
                        [&](std::int64_t first, std::span<double> out) {
                          std::copy_n(values.begin() + first, out.size(), out.begin());
                        });
      }
    }
  }
}

/// Why a node of the backward pass is wrong for its own inputs, by its oracle; "" if none is.
/// Errors of one channel are not independent: only those of elements count, not their norm.
std::string wrong_node(Executor& executor) {
  executor.run(Phase::forward);  // a backward pass may overwrite activations
  const std::vector<GraphNode>& nodes = executor.graph().nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].phase != Phase::backward) continue;
    Verification verification;
    verification.passed = true;
    run_checked(executor, i, budget_of_node, i + 1, verification);
    if (!verification.passed && verification.wrong_elements > 0) return verification.reason;
  }
  return "";
}

/// Makes the comparison undecided where every node is right for its own inputs, and rounding alone
/// may change every gradient that differs too much by as much: its terms cancel. Behind a
/// normalization of one channel, the gradient of the scale is 0 but for them.
void leave_undecided(Comparison& all, Executor& is, Executor& should,
                     const std::vector<double>& expected, ValueIndex gradients, DataType stored) {
  std::vector<double> changes(all.gradients.size());
  bool explained = false;
  for (int draw = 1; !explained; ++draw) {
    for (Executor* const executor : {&is, &should})  // a backward pass may overwrite activations
      executor->run(Phase::forward);
    give(is, should, unit_roundoff(stored), static_cast<std::uint64_t>(draw));
    should.run(Phase::backward);
    const std::vector<double> rounded = read_values(should, gradients);
    explained = true;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Comparison::Difference& of = all.gradients[i];
      changes[i] = std::max(changes[i], relative_difference(of.part(rounded), of.part(expected)));
      const std::optional<bool> rounding =
          is_rounding(of.relative, of.zero, changes[i], draw, stored);
      if (rounding == false) return;
      explained = explained && rounding;
    }
  }
  if (const std::string wrong = wrong_node(is); !wrong.empty()) {
    all.verification.reason = wrong;
    return;
  }
  all.verification.undecided = true;
  all.verification.wrong_elements = 0;
  all.verification.reason = fmt::format(
      "{} of the network differs by {:.3g} of its 2-norm from fp64, but its terms "
      "cancel (rounding alone may change it by {:.3g}). Use a wider network, or a higher precision",
      all.gradients.front().of, all.gradients.front().relative,
      most_roundings(stored) * changes.front());
}

}  // namespace

double relative_difference(std::span<const double> is, std::span<const double> should) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < is.size(); ++i) {
    error += (is[i] - should[i]) * (is[i] - should[i]);
    norm += should[i] * should[i];
  }
  return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}

std::optional<bool> is_rounding(double relative, bool zero, double change, int draws,
                                DataType stored) {
  const auto explains = [&](double slack) {
    return relative <= slack * most_roundings(stored) * change &&
           !(zero && slack * change < least_change_to_zero);
  };
  if (explains(1)) return true;
  if (draws >= most_draws || (draws > 1 && change > 0 && !explains(surely_wrong))) return false;
  return std::nullopt;
}

std::int64_t parity_batch(const Network& network) {
  std::int64_t images = least_images;
  for (const Statistics& of : inference_graph(network, 1, Precision::fp32).statistics)
    images = std::max(images, (least_of_channel + of.count - 1) / of.count);
  return images;
}

void load_random(Executor& executor, std::uint64_t seed) {
  const Graph& graph = executor.graph();
  const Values images(Values::Kind::mantissa, seed, "images", DataType::fp32, 0);
  const std::int64_t classes = graph.value(graph.logits).dims[1];
  executor.device().fill(executor.tensor(graph.images), images);
  executor.device().put(
      executor.tensor(graph.labels), [classes](std::int64_t first, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = static_cast<double>((7 * (first + static_cast<std::int64_t>(i)) + 3) % classes);
      });
}

void load_random(Trainer& trainer, std::uint64_t seed) { load_random(trainer.executor(), seed); }

std::vector<Choice> chosen_for_one_pass(const Executor& executor) {
  std::vector<Choice> chosen;
  for (std::size_t i = 0; const Choice& choice : executor.chosen())
    if (executor.graph().nodes[i++].phase != Phase::accumulate) chosen.push_back(choice);
  return chosen;
}

Verification compare_with_reference(TrainerSettings settings, Plugins& plugins) {
  const auto alone = serial_communicator();
  settings.batch = parity_batch(settings.network);
  settings.accumulate = 1;
  settings.lag = 0;
  settings.executor.measured = false;
  settings.learning.last_norm = parity_last_norm;
  settings.executor.memory.clear();
  auto tried = made(settings, plugins, *alone);
  TrainerSettings plain = settings;
  plain.precision = Precision::fp64;
  plain.loss_scale = {LossScaleSettings::Kind::none};
  plain.executor.backends = {"reference"};
  plain.executor.device = "cpu";
  plain.executor.wide_products = false;
  plain.executor.chosen.clear();
  auto reference = made(plain, plugins, *alone);
  for (const auto* const side : {&tried, &reference})
    if (const auto* const refusal = std::get_if<Unsupported>(side))
      throw CaseError("the network cannot be checked: " + refusal->reason);
  Trainer &a = *std::get<std::unique_ptr<Trainer>>(tried),
          &b = *std::get<std::unique_ptr<Trainer>>(reference);
  Executor &is = a.executor(), &should = b.executor();
  Comparison all;
  const DataType operands = operand_type(settings.precision);
  const NetworkTolerance tolerance = network_tolerance(operands);
  all.verification.passed = true;
  all.verification.reference =
      fmt::format("the network in fp64 on {} images: loss, logits, statistics and {} gradients",
                  settings.batch, a.graph().parameters.size());
  // Graphs of other precisions number their values otherwise.
  const Graph &ours = a.graph(), &theirs = b.graph();
  all.compare("losses", read_values(is, ours.losses), read_values(should, theirs.losses),
              tolerance.forward);
  all.compare("logits", read_values(is, ours.logits), read_values(should, theirs.logits),
              tolerance.forward);
  all.compare("statistics", read_values(is, ours.batch_statistics),
              read_values(should, theirs.batch_statistics), tolerance.forward);
  give(is, should);
  b.executor().run(Phase::backward);
  is.run(Phase::backward);
  while (overflowed(a)) a.make_gradients();
  std::vector<double> gradients = read_values(is, a.graph().gradients);
  const std::vector<double> expected = read_values(should, b.graph().gradients);
  for (double& gradient : gradients) gradient /= a.loss_scale().scale();
  const bool forward = all.verification.passed;
  for (const Parameter& parameter : a.graph().parameters)
    all.compare("the gradient of " + parameter.name, static_cast<std::size_t>(parameter.offset),
                static_cast<std::size_t>(parameter.elements()), gradients, expected,
                tolerance.gradients);
  const bool each = all.verification.passed;
  all.compare("the gradient", 0, gradients.size(), gradients, expected, tolerance.all_gradients);
  if (forward && !each) leave_undecided(all, is, should, expected, theirs.gradients, operands);
  if (!are_finite(gradients)) all.verification.reason += overflow_advice(settings.loss_scale);
  all.verification.outputs = all.verification.checked;
  return all.verification;
}

}  // namespace assay
