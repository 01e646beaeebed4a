#include "models/network/checked_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "models/network/repeats.hpp"
#include "models/ranks.hpp"

namespace assay {

std::uint64_t CheckedSteps::next_seed() { return trainer_.settings().seed + ++checks_ * 65537; }

Verification CheckedSteps::make(const std::string& when, std::size_t checked) {
  Verification verification;
  verification.passed = true;
  std::size_t next = 0;  // next kept batch; a repeated step takes the same batches again
  const auto load_kept = [&] {
    if (next >= kept_.size()) return;
    trainer_.load(kept_[next].images, kept_[next].labels);
    ++next;
  };
  Verification whole = verification;  // also of steps that were skipped
  skipped_ = false;
  if (oracle_ != nullptr) oracle_->forget();
  for (std::int64_t steps = 0; steps <= trainer_.settings().lag;) {
    if (next >= kept_.size()) next = 0;
    trainer_.executor().poison();
    StepCheck check = random_check(trainer_.graph(), checked, next_seed());
    check.verification = verification;
    load_kept();
    {
      const ObservedStep observed(oracle_, trainer_, check.seed);
      trainer_.step(rate_, &check, load_kept);
    }
    if (oracle_ != nullptr) oracle_->end(trainer_, whole);
    if (trainer_.has_overflowed()) {
      skipped_ = true;
      trainer_.let_loss_scale_grow(false);  // it only falls from here, so this ends
      steps = 0;
      verification = {};
      verification.passed = true;
    } else {
      ++steps;
      verification = check.verification;
    }
  }
  trainer_.let_loss_scale_grow(true);
  verification.checked += whole.checked;
  verification.wrong_elements += whole.wrong_elements;
  verification.fail(whole.reason);
  verification.passed = verification.passed && whole.passed;
  if (!verification.passed)
    verification.reason +=
        ", " + when +
        (trainer_.exhausted()
             ? "; gradients are not finite even at a loss scale of 1: the training "
               "diverged, or an operation is wrong (--backend reference shows it)"
         : trainer_.counts()[0] > 0 ? overflow_advice(trainer_.settings().loss_scale)
                                    : "");
  judge_finite(when, verification);
  verification.outputs = verification.checked;
  return verification;
}

Verification CheckedSteps::learn(const std::function<void()>& load, const std::string& when) {
  StepCheck check;
  check.verification.passed = true;
  check.gradient_sum = true;
  check.seed = next_seed();
  load();
  trainer_.step(rate_, &check, load);
  if (trainer_.lowered()) check.verification.passed = true;  // of gradients that are not finite
  if (!check.verification.passed) check.verification.reason += ", " + when;
  return check.verification;
}

void CheckedSteps::keep(std::span<const float> images, std::span<const std::int64_t> labels) {
  kept_.push_back({{images.begin(), images.end()}, {labels.begin(), labels.end()}});
}

void CheckedSteps::compare(const Trainer::State& timed, const Trainer::State& before,
                           const std::string& step, Verification& verification) {
  std::vector<Trainer::Difference> differences = trainer_.differences(timed);
  double spreads =
      verification.passed && may_spread(trainer_.settings().precision, differences) ? 1 : 0;
  ranks_.allreduce_max(std::span(&spreads, 1));
  if (spreads > 0) {
    Trainer::State checked;
    trainer_.save(checked);
    const auto repeat = [&](bool every) {
      Trainer::State begin = before;
      trainer_.swap_state(begin);
      const Verification again =
          make("in a step made again", every ? trainer_.graph().nodes.size() : nodes);
      verification.checked += again.checked;
      verification.wrong_elements += again.wrong_elements;
      verification.fail(again.reason);
      return trainer_.differences(checked);
    };
    spread_ = std::max(spread_, allow_spread(trainer_.settings(), repeat, differences));
  }
  const Trainer::Difference difference = worst(differences);
  if (difference.relative <= difference.allowed) return;
  verification.fail(
      std::isinf(difference.relative)
          ? fmt::format("after {}, {} is not the rounded weight", step, difference.what)
          : fmt::format("after {}, {} differs by {:.3g} of its 2-norm from that after the "
                        "same step with checks",
                        step, difference.what, difference.relative));
}

void CheckedSteps::judge_finite(const std::string& when, Verification& verification) {
  const double loss = mean_loss(), not_finite = trainer_.counts()[0];
  if (!verification.passed || (std::isfinite(loss) && (not_finite == 0 || trainer_.lowered())))
    return;
  verification.fail(fmt::format(
      "the loss is {} and {:.0f} elements of the gradient are not finite, {} (training diverged, "
      "or an operation did not write its results{}). Use a smaller --rate; if it still fails, try "
      "--backend reference, which shows whether a backend is wrong.",
      loss, not_finite, when, overflow_advice(trainer_.settings().loss_scale)));
}

double CheckedSteps::mean_loss() {
  RankCalls calls(ranks_);
  double sum = trainer_.loss();
  calls.sum(std::span(&sum, 1));
  return sum / ranks_.size();
}

StepCheck random_check(const Graph& graph, std::size_t nodes, std::uint64_t seed) {
  StepCheck check;
  check.verification.passed = true;
  check.gradient_sum = graph.gradients != Graph::none;
  check.seed = seed;
  std::mt19937_64 random(seed);
  const std::size_t last = graph.nodes.size() - 1;
  while (check.nodes.size() < std::min(nodes, last)) check.nodes.insert(random() % last);
  check.nodes.insert(last);  // the update
  for (std::size_t i = 0; i < last; ++i)
    if (graph.nodes[i].phase == Phase::accumulate) check.nodes.insert(i);
  return check;
}

}  // namespace assay
