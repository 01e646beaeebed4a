#include "models/network/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "core/base/error.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/program/benchmark.hpp"
#include "kernels/convert/problem.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/tolerance.hpp"

namespace assay {
namespace {

constexpr std::int64_t least_images = 2, least_of_channel = 32;

/// Limit of a gradient's rounding error, relative to the change of the gradient if all values that
/// layers read are rounded once more. In 16 bits, rounding of stored values dominates; in fp32,
/// errors of sums are larger. Measured with one channel: 3 and 42.
double most_roundings(DataType stored) { return size_of(stored) < 4 ? 8 : 64; }
constexpr int most_draws = 8;
constexpr double surely_wrong = 100;
/// Rounding cannot make a gradient 0 if it changes the gradient by less than this part of its norm.
constexpr double least_change_to_zero = 0.5;

/// Sums of squares of gradients.
struct Squares {
  double error = 0, norm = 0;
  bool zero = true;  ///< nothing else was computed

  void add(double is, double should) {
    error += (is - should) * (is - should);
    norm += should * should;
    zero = zero && is == 0;
  }
  void add(const Squares& other) {
    error += other.error;
    norm += other.norm;
    zero = zero && other.zero;
  }
  double relative() const { return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error); }
};

struct Comparison {
  Verification verification;
  struct Difference {
    std::string name;
    std::size_t at, count;  ///< elements in the buffer of gradients
    double relative;
    bool zero;
    std::span<const double> part(const std::vector<double>& all) const {
      return std::span(all).subspan(at, count);
    }
  };
  std::vector<Difference> gradients;  ///< that differ by more than is allowed

  /// Compares `count` elements of the gradients: those of a parameter, or all.
  void compare(const std::string& what, std::int64_t at, std::int64_t count, const Squares& squares,
               double tolerance) {
    const double relative = squares.relative();
    if (!(relative <= tolerance))
      gradients.push_back({what, static_cast<std::size_t>(at), static_cast<std::size_t>(count),
                           relative, squares.zero});
    compare(what, relative, count, tolerance);
  }

  void compare(const std::string& what, std::span<const double> is, std::span<const double> should,
               double tolerance) {
    compare(what, relative_difference(is, should), static_cast<std::int64_t>(is.size()), tolerance);
  }

  void compare(const std::string& what, double relative, std::int64_t count, double tolerance) {
    verification.checked += count;
    if (relative > verification.norm_error) verification.norm_error = relative;
    if (relative <= tolerance) return;  // false for NaN
    verification.fail(fmt::format(
        "{} of the network differs by {:.3g} of its 2-norm from fp64 (at most {:.3g} is allowed)",
        what, relative, tolerance));
    verification.wrong_elements += count;
  }
};

/// A network whose gradients are compared. It has no update, so no velocities.
struct Side {
  std::unique_ptr<Executor> executor;
  LossScale scale;

  const Graph& graph() const { return executor->graph(); }
  void put_scale() { executor->device().fill(executor->tensor(graph().loss_scale), scale.scale()); }
  /// True if gradients overflowed and must be computed again with a smaller loss scale.
  bool has_overflowed() {
    bool finite = true;
    executor->device().stream().wait();
    executor->device().get(executor->tensor(graph().gradients),
                           [&](std::int64_t, std::span<const double> part) {
                             for (const double v : part) finite = finite && std::isfinite(v);
                           });
    if (finite) return false;
    const double before = scale.scale();
    scale.update(false);
    put_scale();
    return scale.scale() < before;
  }
};

/// A side after its forward pass.
Result<Side> make_side(const TrainerSettings& settings, const ParityForm& form, Plugins& plugins,
                       Communicator& ranks) {
  Graph graph = make_gradient_graph(form.network, form.images, settings.precision,
                                    settings.learning, {settings.seed, ranks.rank()});
  ExecutorSettings executor_settings = settings.executor;
  if (executor_settings.chosen.size() != graph.nodes.size())
    executor_settings.chosen.clear();  // of a form with other layers
  auto executor = Executor::make(std::move(graph), executor_settings, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
  Side side{std::move(std::get<std::unique_ptr<Executor>>(executor)),
            LossScale(settings.loss_scale)};
  put_initial(*side.executor, settings.seed);
  load_random(*side.executor, settings.seed);
  side.put_scale();
  side.executor->run(Phase::forward);
  return side;
}

/// A backend that computes the whole network may not compute a smaller form.
Result<Side> try_side(TrainerSettings settings, const ParityForm& form, Plugins& plugins,
                      Communicator& ranks) {
  auto side = make_side(settings, form, plugins, ranks);
  if (form.whole() || settings.executor.chosen.empty() || std::holds_alternative<Side>(side))
    return side;
  settings.executor.chosen.clear();
  return make_side(settings, form, plugins, ranks);
}

TrainerSettings in_plain_fp64(TrainerSettings settings) {
  settings.precision = Precision::fp64;
  settings.loss_scale = {LossScaleSettings::Kind::none};
  settings.executor.backends = dimension::list_backends("reference");
  settings.executor.device = "cpu";
  settings.executor.wide_products = false;
  settings.executor.chosen.clear();
  return settings;
}

/// The nodes that graphs of all precisions have, in order; some precisions also have nodes that
/// convert gradients.
std::vector<std::size_t> common_nodes(const Graph& graph) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].problem->kind() != ConvertProblem::kind_name) all.push_back(i);
  return all;
}

/// After the forward pass of `to`: copies the values that the backward pass of `from` reads
/// (images, parameters, activations and statistics) into `to`. Graphs of different precisions
/// number their values differently, but have the same common_nodes(). Each element is randomly
/// multiplied by 1 + `change` or 1 - `change`.
void give(const Executor& from, Executor& to, double change = 0, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const std::vector<std::size_t> ours = common_nodes(from.graph()),
                                 theirs = common_nodes(to.graph());
  std::set<ValueIndex> known;  // already copied, or gradients, which `to` computes itself
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const GraphNode &source = from.graph().nodes[ours[i]], &target = to.graph().nodes[theirs[i]];
    const bool backward = source.phase == Phase::backward;
    if (!backward && source.layer != "loss") continue;
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

/// Why an oracle finds a node of the backward pass wrong for the node's own inputs; "" if all are
/// right. Errors within one channel are not independent, so only errors of elements count, not
/// their norm.
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

/// Makes the comparison undecided if every node is right for its own inputs, and if rounding alone
/// may explain the difference of every gradient that differs too much. This occurs if the terms of
/// a gradient cancel: for example, behind a normalization of one channel, the gradient of the scale
/// is 0 except for rounding errors.
void leave_undecided(Comparison& all, Executor& is, Executor& should, DataType stored) {
  const std::vector<double> expected = read_values(should, should.graph().gradients);
  std::vector<double> changes(all.gradients.size());
  bool explained = false;
  for (int draw = 1; !explained; ++draw) {
    for (Executor* const executor : {&is, &should})  // a backward pass may overwrite activations
      executor->run(Phase::forward);
    give(is, should, unit_roundoff(stored), static_cast<std::uint64_t>(draw));
    should.run(Phase::backward);
    const std::vector<double> rounded = read_values(should, should.graph().gradients);
    explained = true;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Comparison::Difference& difference = all.gradients[i];
      changes[i] = std::max(
          changes[i], relative_difference(difference.part(rounded), difference.part(expected)));
      const std::optional<bool> rounding =
          is_rounding(difference.relative, difference.zero, changes[i], draw, stored);
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
      all.gradients.front().name, all.gradients.front().relative,
      most_roundings(stored) * changes.front());
}

/// Compares the gradient of each parameter of `a`, divided by the loss scale, with that of `b`.
/// Returns the sums over all gradients.
Squares compare_gradients(const Side& a, const Side& b, const NetworkTolerance& tolerance,
                          Comparison& all) {
  const std::vector<Parameter>&ours = a.graph().parameters, &theirs = b.graph().parameters;
  Squares whole;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::vector<double> is = read_values(*a.executor, ours[i].gradient),
                              should = read_values(*b.executor, theirs[i].gradient);
    Squares own;
    for (std::size_t e = 0; e < is.size(); ++e) own.add(is[e] / a.scale.scale(), should[e]);
    whole.add(own);
    all.compare("the gradient of " + ours[i].name, ours[i].offset, ours[i].elements(), own,
                tolerance.gradients);
  }
  return whole;
}

}  // namespace

double relative_difference(std::span<const double> is, std::span<const double> should) {
  Squares all;
  for (std::size_t i = 0; i < is.size(); ++i) all.add(is[i], should[i]);
  return all.relative();
}

double relative_to_deviation(std::span<const double> is, std::span<const double> should,
                             DataType stored) {
  const double mean =
      std::accumulate(should.begin(), should.end(), 0.0) / static_cast<double>(should.size());
  Squares all;
  double norm = 0;
  for (std::size_t i = 0; i < is.size(); ++i) {
    all.add(is[i] - mean, should[i] - mean);
    norm += should[i] * should[i];
  }
  const double beyond = std::sqrt(all.error) - unit_roundoff(stored) * std::sqrt(norm);
  if (beyond <= 0) return 0;  // false for NaN
  return all.norm > 0 ? beyond / std::sqrt(all.norm) : beyond;
}

double difference_of_outputs(std::span<const double> is, std::span<const double> should,
                             const Executor& executor) {
  const Graph& graph = executor.graph();
  return graph.correlations == Graph::none
             ? relative_difference(is, should)
             : relative_to_deviation(is, should, graph.value(graph.logits).type);
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
  for (const Statistics& statistics : make_inference_graph(network, 1, Precision::fp32).statistics)
    images = std::max(images, (least_of_channel + statistics.count - 1) / statistics.count);
  return images;
}

void load_random(Executor& executor, std::uint64_t seed) {
  const Graph& graph = executor.graph();
  const Values images(Values::Kind::mantissa, seed, "images", DataType::fp32, 0);
  const std::vector<std::int64_t>& logits = graph.value(graph.logits).dims;
  executor.device().fill(executor.tensor(graph.images), images);
  if (graph.labels == Graph::none) return;
  executor.device().put(
      executor.tensor(graph.labels),
      [classes = logits[1], of_image = graph.elements(graph.labels) / logits[0]](
          std::int64_t first, std::span<double> out) {
        for (std::int64_t i = first; double& label : out) {
          label = static_cast<double>((7 * (i / of_image) + 3 + i % of_image) % classes);
          ++i;
        }
      });
}

void load_random(Trainer& trainer, std::uint64_t seed) { load_random(trainer.executor(), seed); }

std::vector<Choice> list_choices_of_pass(const Executor& executor) {
  std::vector<Choice> chosen;
  for (std::size_t i = 0; const Choice& choice : executor.list_chosen())
    if (const Phase phase = executor.graph().nodes[i++].phase;
        phase == Phase::forward || phase == Phase::backward)
      chosen.push_back(choice);
  return chosen;
}

Verification compare_with_reference(TrainerSettings settings, Plugins& plugins,
                                    const ParityLimits& limits) {
  const auto alone = make_serial_communicator();
  settings.executor.measured = false;
  settings.learning.last_norm = parity_last_norm;
  settings.executor.memory.clear();
  const PassOf pass = [&](const Network& network, std::int64_t images, Precision precision) {
    return make_gradient_graph(network, images, precision, settings.learning);
  };
  const bool here = settings.executor.device == "cpu";
  const ParityForm form =
      parity_form(settings.network, parity_batch, pass,
                  here ? std::optional(settings.precision) : std::nullopt, limits);
  auto tried = try_side(settings, form, plugins, *alone);
  auto reference = make_side(in_plain_fp64(settings), form, plugins, *alone);
  for (const auto* const side : {&tried, &reference})
    if (const auto* const refusal = std::get_if<Unsupported>(side))
      throw CaseError("the network cannot be checked: " + refusal->reason);
  Side &a = std::get<Side>(tried), &b = std::get<Side>(reference);
  Executor &is = *a.executor, &should = *b.executor;
  Comparison all;
  const DataType operands = operand_type(settings.precision);
  const NetworkTolerance tolerance = network_tolerance(operands, settings.network.labels);
  all.verification.passed = true;
  all.verification.reference = fmt::format(
      "{} in fp64 on {} image{}: loss, logits, statistics and {} gradients", form.text(),
      form.images, form.images == 1 ? "" : "s", a.graph().parameters.size());
  // Graphs of different precisions number their values differently.
  const Graph &ours = a.graph(), &theirs = b.graph();
  const std::vector<double> logits = read_values(is, ours.logits);
  all.compare("losses", read_values(is, ours.losses), read_values(should, theirs.losses),
              tolerance.forward);
  all.compare("logits", difference_of_outputs(logits, read_values(should, theirs.logits), is),
              std::ssize(logits), tolerance.forward);
  all.compare("statistics", read_values(is, ours.batch_statistics),
              read_values(should, theirs.batch_statistics), tolerance.forward);
  give(is, should);
  should.run(Phase::backward);
  is.run(Phase::backward);
  while (a.has_overflowed())
    for (const Phase phase : {Phase::forward, Phase::backward}) is.run(phase);
  const bool forward = all.verification.passed;
  const Squares gradients = compare_gradients(a, b, tolerance, all);
  const bool each = all.verification.passed;
  all.compare("the gradient", 0, ours.elements(ours.gradients), gradients, tolerance.all_gradients);
  if (forward && !each) leave_undecided(all, is, should, operands);
  if (!std::isfinite(gradients.error))
    all.verification.reason += overflow_advice(settings.loss_scale);
  all.verification.outputs = all.verification.checked;
  return all.verification;
}

}  // namespace assay
