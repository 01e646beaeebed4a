#include "models/network/evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/base/clock.hpp"
#include "models/network/evaluation_oracle.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/ranks.hpp"

namespace assay {

Result<std::unique_ptr<Evaluator>> Evaluator::make(Trainer& trainer, Plugins& plugins,
                                                   Communicator& ranks) {
  const TrainerSettings& trained = trainer.settings();
  Graph graph = make_inference_graph(trained.network, trained.batch, trained.precision);
  ExecutorSettings settings = trained.executor;
  settings.measured = false;
  settings.chosen.clear();
  settings.memory = {{graph.weights, trainer.executor().memory(trainer.graph().weights)}};
  if (graph.stored != Graph::none)
    settings.memory[graph.stored] = trainer.executor().memory(trainer.graph().stored);
  auto executor = Executor::make(std::move(graph), settings, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
  std::unique_ptr<Evaluator> evaluator(
      new Evaluator(trainer, std::move(std::get<std::unique_ptr<Executor>>(executor)), ranks));
  if (evaluator->executor_->chooses()) {
    evaluator->put_statistics();
    load_random(*evaluator->executor_, trained.seed);
    evaluator->executor_->measure(ranks);
  }
  return evaluator;
}

/// Each rank has seen different images, so all ranks use the mean of their moving averages.
void Evaluator::put_statistics() {
  std::vector<double> all = trainer_.running_statistics();
  RankCalls(ranks_).sum(all);
  for (double& value : all) value /= ranks_.size();
  executor_->device().put(executor_->tensor(executor_->graph().batch_statistics),
                          [&](std::int64_t first, std::span<double> out) {
                            std::copy_n(all.begin() + first, out.size(), out.begin());
                          });
}

void Evaluator::run(StepCheck* check) {
  if (check == nullptr) return executor_->run(Phase::forward);
  for (std::size_t i = 0; i < executor_->graph().nodes.size(); ++i)
    if (check->nodes.contains(i))
      run_checked(*executor_, i, budget_of_node, check->seed + i, check->verification);
    else
      executor_->run_node(i);
}

Evaluation Evaluator::evaluate(Batches& batches, StepCheck* check, EvaluationOracle* oracle) {
  put_statistics();
  double judging = 0;  // seconds
  const auto judge = [&](const auto& what) {
    if (oracle == nullptr) return;
    const auto start = std::chrono::steady_clock::now();
    what(*oracle);
    judging += seconds_since(start);
  };
  judge([&](auto& checker) { checker.begin(*executor_, trainer_.running_statistics()); });
  double sums[] = {0, 0, 0};  // losses, scores, images
  batches.start({}, batches.steps());
  std::vector<std::int64_t> labels;
  const std::int64_t checked =
      check == nullptr
          ? -1
          : static_cast<std::int64_t>(check->seed % static_cast<std::uint64_t>(batches.steps()));
  double seconds[] = {0, 0};  // of the other batches, and of the checked one
  for (std::int64_t step = 0; step < batches.steps(); ++step) {
    const Batch& batch = take_next(batches, ranks_);
    labels.assign(batch.labels.begin(), batch.labels.end());
    // Missing images get an arbitrary label, and do not count.
    std::replace(labels.begin(), labels.end(), std::int64_t{-1}, std::int64_t{0});
    put_batch(*executor_, batch.images, labels);
    if (step == checked) batches.pause();  // checks are not timed: no input may be read meanwhile
    if (step == checked) judge([&](auto& checker) { checker.judge_images(*executor_, batch); });
    const auto start = std::chrono::steady_clock::now();
    run(step == checked ? check : nullptr);
    const std::vector<double> losses = read_values(*executor_, executor_->graph().losses),
                              scores = read_scores(*executor_);
    seconds[step == checked ? 1 : 0] += seconds_since(start);
    if (step == checked) judge([&](auto& checker) { checker.judge_results(*executor_, batch); });
    if (oracle != nullptr) oracle->add(batch, losses, scores);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (batch.samples[i] < 0) continue;
      sums[0] += losses[i];
      sums[1] += scores[i];
      sums[2] += 1;
    }
  }
  RankCalls(ranks_).sum(sums);
  Evaluation evaluation;
  evaluation.quality = trainer_.settings().network.quality;
  if (sums[2] > 0) {
    evaluation.loss = sums[0] / sums[2];
    evaluation.score = sums[1] / sums[2];
    evaluation.images = static_cast<std::int64_t>(sums[2]);
  }
  judge([&](auto& checker) { checker.end(evaluation); });
  // If there is only one batch, its time without checks is not known: then checks count.
  if (checked >= 0 && batches.steps() > 1)
    evaluation.check_seconds =
        std::max(0.0, seconds[1] - seconds[0] / static_cast<double>(batches.steps() - 1));
  evaluation.check_seconds += judging;
  return evaluation;
}

}  // namespace assay
