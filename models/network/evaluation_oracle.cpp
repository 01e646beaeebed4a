#include "models/network/evaluation_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/clock.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/evaluator.hpp"
#include "models/network/parameters.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

/// Not finite numbers are others' to judge: here both must be.
bool agrees(double found, double expected, double bound) {
  if (!std::isfinite(found) || !std::isfinite(expected))
    return std::isfinite(found) == std::isfinite(expected);
  return std::fabs(found - expected) <= bound;
}

struct Answer {
  double loss = 0, bound = 0;
  bool correct = false, decided = true;
};

/// Softmax cross-entropy of one image, without smoothing. `u`: roundoff of the arithmetic of the
/// loss. The bound is that of docs/method-training.md, twice: logits and bias are rounded once more
/// when they are added.
Answer answer_of(std::span<const double> logits, std::size_t label, double u) {
  const double most = *std::max_element(logits.begin(), logits.end()),
               least = *std::min_element(logits.begin(), logits.end()),
               size = std::fmax(std::fabs(most), std::fabs(least));
  long double sum = 0;
  for (const double logit : logits) sum += std::exp(static_cast<long double>(logit - most));
  Answer answer;
  const auto classes = static_cast<double>(logits.size());
  answer.loss = static_cast<double>(std::log(sum)) + most - logits[label];
  answer.bound =
      2 * u * (8 * std::log(classes + 1) + (classes + 9) / 2 + 8 * size + 2 * (most - least));
  answer.correct = true;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (k == label) continue;
    if (std::fabs(logits[k] - logits[label]) <= 4 * u * size) answer.decided = false;
    answer.correct = answer.correct && logits[label] > logits[k];
  }
  return answer;
}

}  // namespace

void EvaluationOracle::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void EvaluationOracle::begin(const Executor& executor, const std::vector<double>& running) {
  losses_ = correct_ = images_ = 0;
  seconds_.push_back(0);
  std::vector<double> mean(running);
  RankCalls(ranks_).sum(mean);
  const std::vector<double> used = read_values(executor, executor.graph().batch_statistics);
  if (used.size() != mean.size())
    note(fmt::format("validation has {} statistics, training {}", used.size(), mean.size()));
  for (std::size_t i = 0; i < std::min(used.size(), mean.size()); ++i) {
    const double expected = mean[i] / ranks_.size();
    ++checked_;
    if (!agrees(used[i], expected, 1e-6 * std::fabs(expected) + 1e-30))
      note(
          fmt::format("validation has {} as its statistic {}, but the mean over the ranks of the "
                      "moving averages is {}",
                      used[i], i, expected));
  }
  lap_ = std::chrono::steady_clock::now();
}

void EvaluationOracle::judge_images(const Executor& executor, const Batch& batch) {
  judged_ = true;
  note(data_.fault(batch, false));
  note(BatchOracle::fault_of_copy(batch, executor));
}

void EvaluationOracle::judge_results(const Executor& executor, const Batch& batch) {
  const Graph& graph = executor.graph();
  const std::vector<double> logits = read_logits(executor),
                            losses = read_values(executor, graph.losses),
                            correct = read_values(executor, graph.correct);
  const double u = unit_roundoff(graph.value(graph.losses).type);
  const std::size_t classes = logits.size() / losses.size();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.labels[i] < 0) continue;
    const std::span<const double> own = std::span(logits).subspan(i * classes, classes);
    const Answer expected = answer_of(own, static_cast<std::size_t>(batch.labels[i]), u);
    checked_ += 2;
    if (!agrees(losses[i], expected.loss, expected.bound))
      return note(fmt::format("the loss of image {} of a validated batch is {} (expected {})", i,
                              losses[i], expected.loss));
    if (std::isfinite(expected.loss) && expected.decided &&
        correct[i] != (expected.correct ? 1 : 0))
      return note(
          fmt::format("image {} of a validated batch counts {} times as correct, by its "
                      "logits {}",
                      i, correct[i], expected.correct ? "it is" : "it is not"));
  }
}

void EvaluationOracle::add(const Batch& batch, std::span<const double> losses,
                           std::span<const double> correct) {
  if (!judged_) seconds_.back() += seconds_since(lap_);
  judged_ = false;
  lap_ = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    if (batch.samples[i] < 0) continue;
    losses_ += losses[i];
    correct_ += correct[i];
    ++images_;
  }
}

void EvaluationOracle::end(const Evaluation& evaluation) {
  double sums[] = {losses_, correct_, images_};
  RankCalls(ranks_).sum(sums);
  const auto images = static_cast<std::int64_t>(sums[2]), all = data_.claims().valid_images;
  if (images > all || images < all - data_.claims().bad_samples || evaluation.images != images)
    note(fmt::format("{} images were validated, {} were taken, and the set has {}",
                     evaluation.images, images, all));
  else if (images > 0 && (!agrees(evaluation.loss * sums[2], sums[0], 1e-9 * std::fabs(sums[0])) ||
                          std::fabs(evaluation.accuracy * sums[2] - sums[1]) > 1e-6))
    note(fmt::format(
        "the validation's loss {} and accuracy {} are not those of its batches ({} and {})",
        evaluation.loss, evaluation.accuracy, sums[0] / sums[2], sums[1] / sums[2]));
  fault_ = fault_of_any(fault_, ranks_);
}

}  // namespace assay
