// Pipelines of stages of a network as a way of parallel training.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "comm/layers/staged.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/tolerance.hpp"
#include "models/parallel/device_memory.hpp"
#include "models/parallel/gradient_pass.hpp"
#include "models/parallel/micro_batches.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/pipeline_stage.hpp"
#include "models/parallel/undivided_oracle.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

/// The choices of an undivided network for the nodes of a stage, which have the same names.
std::vector<Choice> list_choices(const Graph& stage, const Executor& whole) {
  std::map<std::string, Choice> known;
  const std::vector<Choice> all = whole.list_chosen();
  for (std::size_t i = 0; i < all.size(); ++i) known[whole.graph().nodes[i].text()] = all[i];
  std::vector<Choice> chosen;
  for (const GraphNode& node : stage.nodes) chosen.push_back(known.at(node.text()));
  return chosen;
}

class PipelineWay final : public ParallelWay {
 public:
  PipelineWay(const WayParts& parts, std::vector<Stage> stages)
      : parts_(parts),
        grid_(parts.ranks, static_cast<int>(parts.run.parallel.number)),
        ranks_(grid_.group()),
        stages_(std::move(stages)),
        settings_(parts.run.trainer) {
    settings_.executor.measured = false;
    settings_.executor.chosen = list_choices(own().graph, parts.whole.executor());
  }

  /// Unsupported as PipelineStage::make. Collective.
  std::optional<Unsupported> prepare() {
    Communicator& messages = parts_.run.gradients ? *parts_.run.gradients : ranks_;
    staged_ = make_staged_for(messages, parts_.whole.device());
    auto stage = PipelineStage::make(own(), settings_, parts_.run.parallel.schedule, parts_.plugins,
                                     grid_, parts_.ranks, staged_ ? *staged_ : messages);
    if (auto* const refusal = std::get_if<Unsupported>(&stage)) return std::move(*refusal);
    stage_ = std::move(std::get<std::unique_ptr<PipelineStage>>(stage));
    stage_->replicas().prepare(stage_->executor());
    if (stage_->reads_samples())
      batches_.emplace(parts_.run, parts_.ranks, stage_->replicas().passes_of_all());
    messages_ = on_all(stage_->message_seconds());
    return std::nullopt;
  }

  void begin() override { stage_->initialise(); }

  void prepare_judge() override {
    kept_.before = read_state(stage_->executor(), stage_->running_statistics());
    kept_.scale_before = stage_->loss_scale();
  }

  StepTotals make(const StepRange& steps) override {
    expect_one_judged(steps);
    StepTotals done;
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      const std::int64_t step = steps.first + i;
      const double rate = steps.rates[static_cast<std::size_t>(i)];
      if (steps.judged) {
        kept_epoch_ = steps.epoch;
        kept_step_ = step;
        kept_.rate = rate;
      }
      stage_->step(rate, [&](std::int64_t pass) -> const Batch& {
        return batches_->at(steps.epoch, step, stage_->replicas().pass(0, pass));
      });
      const auto passes = static_cast<double>(stage_->whole_passes());
      done.flops += stage_->flops();
      // All stages process the same images, which count once.
      if (ranks_.rank() == 0) done.images += passes * static_cast<double>(settings_.batch);
      if (own().graph.losses == Graph::none) continue;
      done.losses += stage_->loss() * passes;
      done.batches += passes;
    }
    return done;
  }

  void poison() override { stage_->poison(); }

  void gather() override {
    Trainer& whole = parts_.whole;
    const StageState all =
        state_of_all(read_state(stage_->executor(), stage_->running_statistics()), stages_,
                     whole.graph(), ranks_);
    put_state(all, whole.executor());
    whole.running_statistics() = all.running;
  }

  /// Rank 0 compares, with the states of all stages.
  void judge(Verification& verification) override {
    kept_.after = read_state(stage_->executor(), stage_->running_statistics());
    kept_.scale_after = stage_->loss_scale();
    double loss = stage_->loss();  // 0 but on the last stages
    RankCalls(parts_.ranks).sum(std::span(&loss, 1));
    DividedStep step = kept_;
    step.loss = loss / grid_.groups();
    const Graph& whole = parts_.whole.graph();
    step.before = state_of_all(kept_.before, stages_, whole, ranks_);
    step.after = state_of_all(kept_.after, stages_, whole, ranks_);
    stage_->replicas().judge_copies(stage_->executor(), stage_->running_statistics(),
                                    compute_repeat_tolerance(settings_.precision), verification);
    throw_on_all(parts_.ranks, [&] {
      if (batches_) verification.fail(batches_->fault());
      if (parts_.ranks.rank() > 0) return;
      if (!oracle_)
        oracle_.emplace(parts_.run, parts_.whole.executor(), parts_.plugins,
                        stage_->replicas().passes_of_all(), false);
      const Verification judged = oracle_->judge(step, [&](std::int64_t pass) -> const Batch& {
        return batches_->at(kept_epoch_, kept_step_, pass);
      });
      verification.checked += judged.checked;
      verification.wrong_elements += judged.wrong_elements;
      if (!judged.passed) verification.fail(judged.reason);
    });
  }

  std::map<std::string, Metric> metrics() override {
    const StageSeconds& times = stage_->seconds();
    const auto passes = static_cast<double>(settings_.accumulate);
    const std::vector<double> forward = on_all(compute_median(times.forward) / passes),
                              backward = on_all(compute_median(times.backward) / passes);
    const double seconds = compute_median(times.passes);
    std::vector<StageCost> cost;
    for (std::size_t i = 0; i < stages_.size(); ++i)
      cost.push_back({forward[i], backward[i], messages_[i]});
    const double predicted =
        pipeline_seconds(parts_.run.parallel.schedule, cost, settings_.accumulate);
    const auto late = static_cast<double>(stages_.size() - 1);
    std::map<std::string, Metric> all{
        {"pipeline_s", {seconds, "s", "lower"}},
        {"pipeline_predicted_s", {predicted, "s", ""}},
        {"bubble", {pipeline_bubble(cost, settings_.accumulate, seconds), "", "lower"}},
        {"bubble_predicted", {pipeline_bubble(cost, settings_.accumulate, predicted), "", ""}},
        {"bubble_balanced", {late / (passes + late), "", ""}}};
    add_stages(cost, seconds, on_all(stage_->bytes()), all);
    const std::vector<double> judged = on_all(oracle_ ? static_cast<double>(oracle_->steps()) : 0),
                              equal =
                                  on_all(oracle_ ? static_cast<double>(oracle_->equal_steps()) : 0);
    all["judged_steps"] = {judged.front(), "", ""};
    all["judged_steps_equal_bits"] = {equal.front(), "", ""};
    for (auto& [name, metric] : all) metric.value = parts_.ranks.broadcast(metric.value);
    return all;
  }

  std::string reference() const override {
    return fmt::format(
        "steps of {} stages against plain accumulation of the same {} micro-batches on the "
        "undivided network: gradients, weights, moments, statistics, losses",
        stages_.size(), stage_->replicas().passes_of_all());
  }

  std::string implementation() const override {
    return fmt::format("activations and gradients of {} stages sent by messages{}", stages_.size(),
                       staged_ ? std::string(", ") + staged_words : "");
  }

 private:
  const Stage& own() const { return stages_[static_cast<std::size_t>(ranks_.rank())]; }

  /// A number of each stage. Collective.
  std::vector<double> on_all(double number) const {
    std::vector<double> all(stages_.size());
    all[static_cast<std::size_t>(ranks_.rank())] = number;
    RankCalls(ranks_).sum(all);
    return all;
  }

  /// The median of steps.
  static double compute_median(const std::vector<double>& seconds) {
    return seconds.empty() ? 0 : median(seconds);
  }

  /// Adds what each stage computes and keeps. Stages count from 1.
  void add_stages(const std::vector<StageCost>& cost, double seconds,
                  const std::vector<double>& bytes, std::map<std::string, Metric>& metrics) const {
    double flops = 0;
    for (const Stage& stage : stages_) flops += stage.flops;
    const int count = ranks_.size();
    for (int i = 0; i < count; ++i) {
      const Stage& stage = stages_[static_cast<std::size_t>(i)];
      const StageCost& stage_cost = cost[static_cast<std::size_t>(i)];
      const std::string name = fmt::format("stage{}_", i + 1);
      const auto slots = static_cast<double>(
          pipeline_slots(parts_.run.parallel.schedule, i, count, settings_.accumulate));
      metrics[name + "flops_share"] = {stage.flops / flops, "", ""};
      metrics[name + "forward_s"] = {stage_cost.forward, "s", "lower"};
      metrics[name + "backward_s"] = {stage_cost.backward, "s", "lower"};
      metrics[name + "bubble"] = {pipeline_bubble({stage_cost}, settings_.accumulate, seconds), "",
                                  "lower"};
      metrics[name + "slots"] = {slots, "", ""};
      metrics[name + "activations_bytes"] = {slots * stage.waiting_bytes, "B", "lower"};
      metrics[name + "memory_bytes"] = {bytes[static_cast<std::size_t>(i)], "B", "lower"};
      if (i > 0) metrics[name + "message_s"] = {stage_cost.message, "s", "lower"};
    }
  }

  const WayParts parts_;
  const Grid grid_;
  Communicator& ranks_;  ///< of this pipeline
  const std::vector<Stage> stages_;
  TrainerSettings settings_;
  std::unique_ptr<Communicator> staged_;  ///< carries values on a device; null: none are there
  std::unique_ptr<PipelineStage> stage_;
  std::optional<MicroBatches> batches_;
  std::optional<UndividedOracle> oracle_;
  std::vector<double> messages_;
  DividedStep kept_;  ///< of this stage
  std::int64_t kept_epoch_ = 0, kept_step_ = 0;
};

}  // namespace

Result<std::unique_ptr<ParallelWay>> make_pipeline_way(const WayParts& parts) {
  const Parallel& way = parts.run.parallel;
  if (std::string why = why_no_grid(way, parts.ranks.size(), "stage"); !why.empty())
    return Unsupported{std::move(why)};
  for (const char* const flag : {"allreduce", "wire"})
    if (parts.run.claims && parts.run.claims->at(flag) != (flag[0] == 'w' ? "none" : "library"))
      return Unsupported{
          fmt::format("--{} is for sums, and --parallel {} sends messages alone. "
                      "Leave it out.",
                      flag, to_text(way))};
  if (parts.run.trainer.sums_on_device)
    return Unsupported{fmt::format(
        "--parallel {}: messages of GPU memory follow each other in the order of a stream, where "
        "one that was asked for early holds back the stage that it waits for. Leave "
        "--allreduce-transport out.",
        to_text(way))};
  // If one rounding to 16 bits changes direction, all later layers change too much for any
  // tolerance.
  const bool narrow = size_of(operand_type(parts.run.trainer.precision)) == 2;
  if (std::string why = why_other_bits(parts, narrow); !why.empty())
    return Unsupported{std::move(why)};
  const TrainerSettings& trainer = parts.run.trainer;
  const Graph pass = make_gradient_graph(trainer.network, trainer.batch, trainer.precision,
                                         trainer.learning, {trainer.seed, 0});
  auto cuts = balance_cuts(pass, static_cast<int>(way.number));
  if (auto* const refusal = std::get_if<Unsupported>(&cuts))
    return Unsupported{"--parallel " + to_text(way) + ": " + refusal->reason};
  auto way_of_stages = std::make_unique<PipelineWay>(
      parts, stages_between(pass, std::get<std::vector<StageCut>>(cuts), trainer.learning,
                            trainer.accumulate > 1));
  if (auto refusal = way_of_stages->prepare()) return std::move(*refusal);
  return way_of_stages;
}

}  // namespace assay
