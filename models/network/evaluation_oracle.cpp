#include "models/network/evaluation_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/clock.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/claimed_error.hpp"
#include "models/network/evaluator.hpp"
#include "models/network/parameters.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

/// If a number is not finite, the other must not be finite either; other checks judge such numbers.
bool agrees(double value, double expected, double bound) {
  if (!std::isfinite(value) || !std::isfinite(expected))
    return std::isfinite(value) == std::isfinite(expected);
  return std::fabs(value - expected) <= bound;
}

/// The loss and score of one sample, and the largest distance that a right result may have from
/// each.
struct Answer {
  double loss = 0, bound = 0;
  double score = 0, score_bound = 0;
};

/// The answer for an image with one label. If rounding may exchange the order of two logits, either
/// score is right.
Answer judge_answer(std::span<const double> logits, std::size_t label, double u) {
  const ClaimedLoss loss = compute_claimed_cross_entropy(logits, label, 0, u);
  Answer answer{loss.value, loss.bound, 1, 0};
  double size = 0;
  for (const double logit : logits) size = std::fmax(size, std::fabs(logit));
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (k == label) continue;
    if (std::fabs(logits[k] - logits[label]) <= 4 * u * size) answer.score_bound = 1;
    if (!(logits[label] > logits[k])) answer.score = 0;
  }
  return answer;
}

/// The answer for sample `i` of a batch that an executor has run. `outputs`: the network's outputs
/// for this sample.
Answer judge_answer(const Executor& executor, const Batch& batch, const DataClaims& claims,
                    std::size_t i, std::span<const double> outputs) {
  const Graph& graph = executor.graph();
  const double u = unit_roundoff(graph.value(graph.losses).type);
  if (claims.labels == Labels::per_sample)
    return judge_answer(outputs, static_cast<std::size_t>(batch.labels[i]), u);
  if (claims.labels == Labels::per_pixel) {
    const std::size_t pixels = outputs.size() / claims.class_factors.size();
    const std::span<const std::int64_t> own = batch.labels.subspan(i * pixels, pixels);
    const ClaimedPixels claimed = compute_claimed_pixels(
        outputs, std::vector<double>(own.begin(), own.end()), claims.class_factors, u);
    return {claimed.loss.value, claimed.loss.bound, claimed.iou, 1e-12};
  }
  std::vector<double> targets;
  for (const float value : batch.images.subspan(i * outputs.size(), outputs.size()))
    targets.push_back(round_to(graph.value(graph.images).type, value));
  const ClaimedError claimed = compute_claimed_error(outputs, targets, u);
  return {claimed.loss.value, claimed.loss.bound, claimed.correlation.value,
          claimed.correlation.bound};
}

}  // namespace

void EvaluationOracle::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void EvaluationOracle::begin(const Executor& executor, const std::vector<double>& running) {
  losses_ = scores_ = images_ = 0;
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
  const std::vector<double> logits = read_logits(executor),
                            losses = read_values(executor, executor.graph().losses),
                            scores = read_scores(executor);
  const std::size_t size = logits.size() / losses.size();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.samples[i] < 0) continue;
    const Answer expected =
        judge_answer(executor, batch, data_.claims(), i, std::span(logits).subspan(i * size, size));
    checked_ += 2;
    if (!agrees(losses[i], expected.loss, expected.bound))
      return note(fmt::format("the loss of image {} of a validated batch is {} (expected {})", i,
                              losses[i], expected.loss));
    if (std::isfinite(expected.loss) && !agrees(scores[i], expected.score, expected.score_bound))
      return note(
          fmt::format("image {} of a validated batch scores {}, by the network's outputs {}", i,
                      scores[i], expected.score));
  }
}

void EvaluationOracle::add(const Batch& batch, std::span<const double> losses,
                           std::span<const double> scores) {
  if (!judged_) seconds_.back() += seconds_since(lap_);
  judged_ = false;
  lap_ = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    if (batch.samples[i] < 0) continue;
    losses_ += losses[i];
    scores_ += scores[i];
    ++images_;
  }
}

void EvaluationOracle::end(const Evaluation& evaluation) {
  double sums[] = {losses_, scores_, images_};
  RankCalls(ranks_).sum(sums);
  const auto images = static_cast<std::int64_t>(sums[2]), all = data_.claims().valid_images;
  if (images > all || images < all - data_.claims().bad_samples || evaluation.images != images)
    note(fmt::format("{} images were validated, {} were taken, and the set has {}",
                     evaluation.images, images, all));
  else if (images > 0 && (!agrees(evaluation.loss * sums[2], sums[0], 1e-9 * std::fabs(sums[0])) ||
                          std::fabs(evaluation.score * sums[2] - sums[1]) > 1e-6))
    note(fmt::format("the validation's loss {} and {} {} are not those of its batches ({} and {})",
                     evaluation.loss, name(evaluation.quality), evaluation.score, sums[0] / sums[2],
                     sums[1] / sums[2]));
  fault_ = find_fault_of_any(fault_, ranks_);
}

}  // namespace assay
