// Layers divided among ranks as a way of parallel training.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/measure/run_case.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/tolerance.hpp"
#include "models/parallel/micro_batches.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/split_graph.hpp"
#include "models/parallel/split_network.hpp"
#include "models/parallel/split_oracle.hpp"
#include "models/parallel/stage_values.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::size_t nodes_of_split_check = 8;
constexpr std::size_t steps_of_split_row = 1 << 16;

class SplitWay final : public ParallelWay {
 public:
  explicit SplitWay(const WayParts& parts)
      : parts_(parts),
        network_(graph_of(parts), settings_of(parts), parts.plugins, parts.ranks,
                 parts.run.gradients ? *parts.run.gradients : parts.ranks),
        shares_(parts.whole.graph(), network_.graph(), parts.ranks.rank()),
        passes_(parts.run.trainer.accumulate) {
    predicted_ = network_.measure_sums() * static_cast<double>(passes_);
    throw_on_all(parts.ranks, [&] { batches_.emplace(parts.run, parts.ranks); });
    sums_.reserve(steps_of_split_row);
    steps_.reserve(steps_of_split_row);
  }

  /// Every rank has the undivided parameters.
  void begin() override {
    StageState state = state_of(network_.executor(), {});
    const StageState whole = state_of(parts_.whole.executor(), {});
    for (std::size_t i = 0; i < state.values.size(); ++i) {
      const ValueIndex value = network_.graph().*stage_values()[i];
      if (value == Graph::none) continue;
      const bool moments = value == network_.graph().velocity || value == network_.graph().second;
      if (moments)
        std::ranges::fill(state.values[i], std::byte{0});
      else
        shares_.take(whole.values[i], state.values[i], size_of_element(value));
    }
    put_state(state, network_.executor());
    network_.put_number(network_.graph().loss_scale, 1);
    updates_ = 0;
    sums_.clear();
    steps_.clear();
  }

  MadeSteps make(const StepRange& steps) override {
    MadeSteps made;
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      if (steps.judged && i + 1 == steps.count()) {
        before_ = state_of(network_.executor(), {});
        judged_ = {steps.epoch, steps.first + i, steps.rates[static_cast<std::size_t>(i)]};
      }
      const auto begun = std::chrono::steady_clock::now();
      const double loss =
          step({steps.epoch, steps.first + i, steps.rates[static_cast<std::size_t>(i)]}, nullptr);
      steps_.push_back(seconds_since(begun));
      sums_.push_back(network_.take_seconds());
      last_loss_ = loss;
      count(loss, made);
    }
    return made;
  }

  void poison() override { network_.executor().poison(); }

  void gather() override {
    StageState all = state_of(parts_.whole.executor(), {});
    gather(state_of(network_.executor(), {}), all);
    put_state(all, parts_.whole.executor());
  }

  /// Makes the last step again, with checks, and compares what it has left.
  void judge(Verification& found) override {
    if (!std::exchange(compared_, true))
      compare_with_undivided(parts_.run.trainer, parts_.plugins, parts_.ranks, found);
    judge_loss(found);
    const StageState after = state_of(network_.executor(), {});
    put_state(before_, network_.executor());
    --updates_;
    network_.executor().poison();
    SplitCheck check = random_nodes();
    step(judged_, &check);
    network_.take_seconds();
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i] = network_.executor().runs(i);
    found.checked += check.found.checked;
    found.wrong_elements += check.found.wrong_elements;
    found.fail(check.found.reason);
    compare(after, state_of(network_.executor(), {}), found);
    judge_copies(found);
    found.fail(batches_->fault());
  }

  std::map<std::string, Metric> metrics() override {
    double seconds[] = {sums_.empty() ? 0 : median(sums_), steps_.empty() ? 0 : median(steps_),
                        static_cast<double>(network_.executor().bytes())};
    parts_.ranks.allreduce_max(seconds);
    return {
        {"sums_s", {seconds[0], "s", "lower"}},
        {"sums_predicted_s", {predicted_, "s", ""}},
        {"step_s", {seconds[1], "s", "lower"}},
        {"summed_bytes", {network_.summed_bytes() * static_cast<double>(passes_), "B", "lower"}},
        {"memory_of_rank_bytes", {seconds[2], "B", "lower"}}};
  }

  std::string reference() const override {
    return fmt::format(
        "divided layers of {} in fp64 against the undivided ones: loss and all gradients; losses "
        "of steps; sums of repeated steps over the ranks, of their own terms",
        compared_form(parts_.run.trainer, parts_.ranks.size()).descriptor);
  }
  /// Values that a pass adds.
  std::ptrdiff_t sums() const {
    return std::ranges::count_if(network_.graph().nodes,
                                 [](const GraphNode& node) { return node.summed != Graph::none; });
  }

  std::string implementation() const override {
    const std::string by = network_.executed_sum().implementation;
    return fmt::format("dense layers divided among {} ranks, sums by {}", parts_.ranks.size(),
                       by.empty() ? "allreduce" : by);
  }

 private:
  struct Step {
    std::int64_t epoch = 0, step = 0;
    double rate = 0;
  };

  static Graph graph_of(const WayParts& parts) {
    const TrainerSettings& of = parts.run.trainer;
    return split_step(of.network, of.batch, of.precision, of.learning, parts.ranks.size(),
                      of.accumulate > 1, {of.seed, 0});
  }

  /// The backend of each node of the undivided network, for the part of it; its algorithm may not
  /// fit.
  static ExecutorSettings settings_of(const WayParts& parts) {
    ExecutorSettings of = parts.run.trainer.executor;
    of.measured = false;
    for (const Choice& choice : parts.whole.executor().chosen())
      of.chosen.push_back({choice.backend, ""});
    return of;
  }

  std::size_t size_of_element(ValueIndex value) const {
    return size_of(network_.graph().value(value).type);
  }

  /// The mean loss of its passes. `check`: of one of them, and of the update. Collective.
  double step(const Step& of, SplitCheck* check) {
    const Graph& graph = network_.graph();
    Executor& executor = network_.executor();
    if (graph.accumulates()) executor.clear(graph.gradients);
    double losses = 0;
    for (std::int64_t pass = 0; pass < passes_; ++pass) {
      const Batch& batch = batches_->at(of.epoch, of.step, pass);
      put_batch(executor, batch.images, batch.labels);
      network_.put_number(graph.passes, static_cast<double>(updates_ * passes_ + pass));
      const bool checked = check != nullptr && check->seed % static_cast<std::uint64_t>(passes_) ==
                                                   static_cast<std::uint64_t>(pass);
      for (const Phase phase : {Phase::forward, Phase::backward, Phase::accumulate})
        network_.run(phase, checked ? check : nullptr);
      const std::vector<double> of_batch = read_values(executor, graph.losses);
      losses += std::accumulate(of_batch.begin(), of_batch.end(), 0.0) /
                static_cast<double>(of_batch.size());
    }
    network_.put_number(graph.rate, of.rate);
    network_.put_number(graph.unscale, 1 / static_cast<double>(passes_));
    network_.put_number(graph.step, static_cast<double>(++updates_));
    network_.run(Phase::update, check);
    return losses / static_cast<double>(passes_);
  }

  /// Adds what the last step has done, where it is done. Layers that all ranks have count once.
  void count(double loss, MadeSteps& made) {
    const std::vector<GraphNode>&nodes = network_.graph().nodes,
          &whole = parts_.whole.graph().nodes;
    const bool first = parts_.ranks.rank() == 0;
    runs_.resize(nodes.size());
    std::int64_t passes = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t runs = network_.executor().runs(i) - runs_[i];
      runs_[i] += runs;
      if (nodes[i].phase != Phase::update) passes = std::min(passes, runs);
      if (nodes[i].phase == Phase::update && runs == 0) passes = 0;  // nothing was learnt
      const double flops = nodes[i].problem->flops();
      if (first || flops < whole[i].problem->flops())
        made.flops += static_cast<double>(runs) * flops;
    }
    double worst[] = {-static_cast<double>(passes),
                      read_values(network_.executor(), network_.graph().counts)[0]};
    parts_.ranks.allreduce_max(worst);
    if (worst[1] > 0)
      throw WrongResult(fmt::format(
          "training diverged: gradients are not finite in step {}. Use a smaller --rate.",
          updates_));
    if (!first) return;
    made.images += -worst[0] * static_cast<double>(parts_.run.trainer.batch);
    made.losses += loss * -worst[0];
    made.batches += -worst[0];
  }

  /// All products whose sums are those of all ranks, some other nodes, and the update.
  SplitCheck random_nodes() {
    const Graph& graph = network_.graph();
    SplitCheck check;
    check.seed = parts_.run.trainer.seed + ++checks_ * 65537;
    check.nodes = random_check(graph, nodes_of_split_check, check.seed).nodes;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].summed != Graph::none) check.nodes.insert(i);
    check.found.passed = true;
    return check;
  }

  std::vector<double> numbers(const StageState& state, std::size_t which,
                              const Parameter& parameter) const {
    const std::size_t size = size_of_element(network_.graph().*stage_values()[which]);
    std::vector<double> values(static_cast<std::size_t>(parameter.elements()));
    decode(network_.graph().value(network_.graph().*stage_values()[which]).type,
           state.values[which].data() + static_cast<std::size_t>(parameter.offset) * size, values);
    return values;
  }

  /// Two states after the same step: gradients, moments, and how far the weights have moved.
  void compare(const StageState& is, const StageState& should, Verification& found) const {
    const Graph& graph = network_.graph();
    const double allowed = repeated_tolerance(parts_.run.trainer.precision,
                                              parts_.run.trainer.learning.narrow_gradients);
    const double u = unit_roundoff(graph.value(graph.weights).type);
    for (std::size_t i = 0; i < stage_values().size(); ++i) {
      const ValueIndex value = graph.*stage_values()[i];
      if (value == Graph::none || value == graph.stored) continue;
      for (const Parameter& parameter : graph.parameters) {
        std::vector<double> one = numbers(is, i, parameter), other = numbers(should, i, parameter);
        found.checked += parameter.elements();
        if (one == other) continue;
        double rounding = 0;  // beside the 2-norm of the step
        if (value == graph.weights) {
          const std::vector<double> before = numbers(before_, i, parameter);
          double weights = 0, steps = 0;
          for (std::size_t e = 0; e < one.size(); ++e) {
            one[e] -= before[e];
            other[e] -= before[e];
            weights += before[e] * before[e];
            steps += other[e] * other[e];
          }
          rounding = steps > 0 ? 4 * u * std::sqrt(weights / steps) : 0;
        }
        if (const double relative = relative_difference(one, other);
            !(relative <= allowed + rounding))
          found.fail(fmt::format(
              "after a timed step, the {} of {} differ by {:.3g} of their 2-norm from those after "
              "the same step with checks",
              graph.value(value).name, parameter.name, relative));
      }
    }
  }

  /// The loss of the undivided network, of the weights before the step. Collective.
  void judge_loss(Verification& found) {
    Trainer& whole = parts_.whole;
    StageState all = state_of(whole.executor(), {});
    gather(before_, all);
    put_state(all, whole.executor());
    double losses = 0;
    for (std::int64_t pass = 0; pass < parts_.run.trainer.accumulate; ++pass) {
      const Batch& batch = batches_->at(judged_.epoch, judged_.step, pass);
      whole.load(batch.images, batch.labels);
      whole.executor().run(Phase::forward);
      const std::vector<double> each = read_values(whole.executor(), whole.graph().losses);
      losses += std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
    }
    losses /= static_cast<double>(parts_.run.trainer.accumulate);
    // Both have rounding errors.
    const TrainerSettings& of = parts_.run.trainer;
    const double allowed =
        2 * network_tolerance(operand_type(of.precision), of.network.labels).forward;
    if (!(std::fabs(last_loss_ - losses) <= allowed * std::fabs(losses)))
      found.fail(fmt::format(
          "the loss of a step is {}, and {} of the undivided network with the same samples",
          last_loss_, losses));
  }

  /// Parameters that all ranks have stay alike. Collective.
  void judge_copies(Verification& found) {
    const Graph &graph = network_.graph(), &whole = parts_.whole.graph();
    const std::vector<double> all = read_values(network_.executor(), graph.weights);
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
      const Parameter& parameter = graph.parameters[i];
      if (parameter.dims != whole.parameters[i].dims) continue;
      const auto own = std::span(all).subspan(static_cast<std::size_t>(parameter.offset),
                                              static_cast<std::size_t>(parameter.elements()));
      std::vector<double> of_first(own.begin(), own.end());
      RankCalls(parts_.ranks).broadcast(of_first);
      if (const double relative = relative_difference(own, of_first);
          !(relative <= repeated_tolerance(parts_.run.trainer.precision)))
        found.fail(fmt::format("{} differs by {:.3g} of its 2-norm from that of rank 0",
                               parameter.name, relative));
    }
  }

  /// The parameters of all ranks, at their places in `all`. Collective.
  void gather(const StageState& own, StageState& all) const {
    const Graph& graph = network_.graph();
    for (std::size_t i = 0; i < stage_values().size(); ++i) {
      const ValueIndex value = graph.*stage_values()[i];
      if (value != graph.weights && (value != graph.stored || value == Graph::none)) continue;
      for (int rank = 0; rank < parts_.ranks.size(); ++rank) {
        std::vector<std::byte> bytes = own.values[i];
        broadcast_bytes(bytes, rank, parts_.ranks);
        PartsOfParameters(parts_.whole.graph(), graph, rank)
            .place(bytes, all.values[i], size_of_element(value));
      }
    }
  }

  const WayParts parts_;
  SplitNetwork network_;
  PartsOfParameters shares_;
  const std::int64_t passes_;
  std::optional<MicroBatches> batches_;
  std::int64_t updates_ = 0;
  std::vector<std::int64_t> runs_;    ///< of each node, before the last step
  double last_loss_ = 0;              ///< of the last step
  double predicted_ = 0;              ///< seconds of the sums of a step
  std::vector<double> sums_, steps_;  ///< seconds of each step
  bool compared_ = false;             ///< with the undivided network
  StageState before_;                 ///< the judged step
  Step judged_;
  std::uint64_t checks_ = 0;
};

/// Why a training cannot be divided so; "" if it can.
std::string why_not_divided(const WayParts& parts) {
  const TrainerSettings& of = parts.run.trainer;
  const std::string way = "--parallel " + to_text(parts.run.parallel);
  if (parts.run.parallel.number != parts.ranks.size())
    return fmt::format("{}: each part is a rank, and there are {} ranks. Start {} of them.", way,
                       parts.ranks.size(), parts.run.parallel.number);
  if (of.network.filters)
    return way + " divides dense layers, and this network has convolutions. Use another.";
  if (parts.run.claims && parts.run.claims->at("wire") != "none")
    return way + " adds activations in their own type. Leave --wire out.";
  if (needs_trust(of.learning.rule) || of.learning.rule == UpdateRule::lamb)
    return fmt::format("{}: {} needs the norms of whole parameters. Use another --optimizer.", way,
                       name(of.learning.rule));
  if (of.loss_scale.kind != LossScaleSettings::Kind::none)
    return way + " has no loss scale, as fp16 needs. Use bf16.";
  return "";
}

}  // namespace

Result<std::unique_ptr<ParallelWay>> make_split_way(const WayParts& parts) {
  if (std::string why = why_not_divided(parts); !why.empty()) return Unsupported{std::move(why)};
  try {
    auto way = std::make_unique<SplitWay>(parts);
    if (way->sums() > 0) return way;
  } catch (const UnsupportedCase& refusal) {
    return Unsupported{"--parallel " + to_text(parts.run.parallel) + ": " + refusal.what()};
  }
  return Unsupported{
      fmt::format("--parallel {}: no layer has a number of features that {} divides.",
                  to_text(parts.run.parallel), parts.ranks.size())};
}

}  // namespace assay
