#include "models/parallel/undivided_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

#include "core/measure/run_case.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/tolerance.hpp"
#include "models/parallel/parallel_way.hpp"

namespace assay {
namespace {

constexpr const char* not_plain = "in plain accumulation on the undivided network";
/// Size of the random roundings of samples, and the factor by which the roundings of all layers may
/// change results more than these.
constexpr double roundings = 4, amplified = 16;

/// Means and variances of a normalization.
std::vector<double> select_numbers(const Statistics& statistics, const std::vector<double>& all) {
  std::vector<double> values(all.begin() + statistics.mean,
                             all.begin() + statistics.mean + statistics.channels);
  values.insert(values.end(), all.begin() + statistics.variance,
                all.begin() + statistics.variance + statistics.channels);
  return values;
}

}  // namespace

UndividedOracle::UndividedOracle(const TrainingRun& run, const Executor& whole, Plugins& plugins,
                                 std::int64_t passes, bool in_parts)
    : run_(run), passes_(passes), in_parts_(in_parts), alone_(make_serial_communicator()) {
  TrainerSettings settings = run.trainer;
  settings.accumulate = passes;
  settings.executor.measured = false;
  settings.executor.chosen = choices(whole);
  auto trainer = Trainer::make(settings, plugins, *alone_);
  if (const auto* const refusal = std::get_if<Unsupported>(&trainer))
    throw UnsupportedCase(refusal->reason);
  plain_ = std::move(std::get<std::unique_ptr<Trainer>>(trainer));
  if (run.claims)
    oracle_ = std::make_unique<StepOracle>(
        StepClaims(of_one_rank(*run.claims), run.definition.input), plain_->executor(), *alone_);
  checks_ = std::make_unique<CheckedSteps>(*plain_, *alone_, run.convergence.rate, oracle_.get());
}

/// The undivided network of a rank may lack the accumulating node; adds a choice for it.
std::vector<Choice> UndividedOracle::choices(const Executor& whole) const {
  std::vector<Choice> chosen = whole.list_chosen();
  if (passes_ == 1 || whole.graph().accumulates()) return chosen;
  chosen.insert(chosen.end() - 1, {chosen.back().backend, ""});
  return chosen;
}

void UndividedOracle::put(const StageState& state, const LossScaleState& scale) {
  put_state(state, plain_->executor());
  Trainer::State now;
  plain_->save(now);
  now.running = state.running;
  now.loss_scale = scale;
  plain_->swap_state(now);
}

Verification UndividedOracle::judge(const DividedStep& step,
                                    const std::function<const Batch&(std::int64_t pass)>& batch) {
  put(step.after, step.scale_after);
  Trainer::State after;
  plain_->save(after);
  put(step.before, step.scale_before);
  if (oracle_) oracle_->expect_rate(step.rate);
  checks_->set_rate(step.rate);
  for (std::int64_t pass = 0; pass < passes_; ++pass) {
    const Batch& loaded = batch(pass);
    checks_->keep(loaded.images, loaded.labels);
  }
  Verification verification = checks_->make(not_plain);
  checks_->forget();
  const bool skipped = step.scale_after.skipped > step.scale_before.skipped;
  if (skipped != checks_->skipped() && !in_parts_)  // only sums in parts may overflow
    verification.fail(fmt::format("a step of the ranks was {}, and that of plain accumulation {}",
                                  skipped ? "skipped" : "made", skipped ? "made" : "skipped"));
  if (in_parts_) judge_skipped(step, skipped, verification);
  if (!verification.passed || skipped || checks_->skipped()) return verification;
  ++steps_;
  compare_gradients(step.after, verification);
  const double loss = plain_->loss();
  const std::vector<double> running = plain_->running_statistics();
  compare_state(step, after, verification);
  const Tolerances by_rounding = find_tolerances(step, batch(passes_ - 1));
  compare_loss(step, loss, by_rounding.loss, verification);
  compare_running(step.after, running, by_rounding, verification);
  verification.outputs = verification.checked;
  return verification;
}

void UndividedOracle::judge_skipped(const DividedStep& step, bool skipped,
                                    Verification& verification) const {
  const Graph& graph = plain_->graph();
  std::vector<double> gradients(static_cast<std::size_t>(graph.elements(graph.gradients)));
  decode(graph.value(graph.gradients).type, step.after.values.back().data(), gradients);
  const bool finite =
      std::ranges::all_of(gradients, [](double gradient) { return std::isfinite(gradient); });
  if (skipped == finite)
    verification.fail(fmt::format("a step of the ranks was {}, and its gradients are {}",
                                  skipped ? "skipped" : "made", finite ? "finite" : "not finite"));
  if (skipped && step.before.values.front() != step.after.values.front())
    verification.fail("a step of the ranks was skipped, and has changed weights");
}

void UndividedOracle::compare_state(const DividedStep& step, const Trainer::State& after,
                                    Verification& verification) {
  if (in_parts_) update_again(step);
  const Trainer::Difference difference = plain_->difference(after);
  if (!(difference.relative <= difference.allowed))
    verification.fail(
        std::isinf(difference.relative)
            ? fmt::format("after a step of the ranks, {} is not the rounded weight",
                          difference.what)
            : fmt::format("after a step of the ranks, {} differs by {:.3g} of its 2-norm "
                          "from that {}",
                          difference.what, difference.relative, not_plain));
}

/// Compares the gradient of each parameter. The order of sums is the same, so gradients have equal
/// bits if the results of each operation have.
void UndividedOracle::compare_gradients(const StageState& after, Verification& verification) {
  const Graph& graph = plain_->graph();
  const StageState plain = read_state(plain_->executor(), {});
  // Decodes both from memory: filters may be in another order there, but in the same one in both.
  const auto gradients_in = [&](const StageState& state) {
    std::vector<double> all(static_cast<std::size_t>(graph.elements(graph.gradients)));
    decode(graph.value(graph.gradients).type, state.values.back().data(), all);
    return all;
  };
  const std::vector<double> all = gradients_in(plain), of_ranks = gradients_in(after);
  if (in_parts_) {
    // In 16 bits the gradients may have nothing in common. In fp32 they differ by at most 0.002
    // (measured with 4 images of 32 x 32 pixels in resnet50:w8).
    if (size_of(operand_type(run_.trainer.precision)) == 2) return;
    verification.checked += std::ssize(all);
    if (const double relative = relative_difference(of_ranks, all); !(relative <= 0.1))
      verification.fail(fmt::format("all gradients differ by {:.3g} of their 2-norm from those {}",
                                    relative, not_plain));
    return;
  }
  const double allowed =
      compute_repeat_tolerance(run_.trainer.precision, run_.trainer.learning.narrow_gradients);
  bool equal = true;
  for (const Parameter& parameter : graph.parameters) {
    const auto first = static_cast<std::size_t>(parameter.offset),
               count = static_cast<std::size_t>(parameter.elements());
    const auto is = std::span<const double>(of_ranks).subspan(first, count),
               should = std::span<const double>(all).subspan(first, count);
    verification.checked += parameter.elements();
    if (std::ranges::equal(is, should)) continue;
    equal = false;
    if (const double relative = relative_difference(is, should); !(relative <= allowed))
      verification.fail(
          fmt::format("the gradient of {} differs by {:.3g} of its 2-norm from that {}",
                      parameter.name, relative, not_plain));
  }
  if (equal) ++equal_steps_;
}

/// Sums in parts are rounded differently. A network with few pixels and samples may amplify these
/// differences without limit. So this network's amplification is measured, by rounding only the
/// samples differently.
UndividedOracle::Tolerances UndividedOracle::find_tolerances(const DividedStep& step,
                                                             const Batch& batch) {
  const double u = unit_roundoff(operand_type(run_.trainer.precision));
  const std::vector<Statistics>& norms = plain_->graph().statistics;
  if (!in_parts_) {
    const double repeated = compute_repeat_tolerance(run_.trainer.precision);
    return {repeated, std::vector<double>(norms.size(), repeated)};
  }
  const Executor& executor = plain_->executor();
  const auto forward = [&](std::span<const float> images) {
    plain_->load(images, batch.labels);
    plain_->executor().run(Phase::forward);
    return std::pair(read_values(executor, executor.graph().losses),
                     read_values(executor, executor.graph().batch_statistics));
  };
  put(step.before, step.scale_before);
  const auto [losses, statistics] = forward(batch.images);
  std::vector<float> rounded(batch.images.begin(), batch.images.end());
  std::mt19937_64 random(run_.trainer.seed);
  for (float& pixel : rounded)
    pixel *= static_cast<float>(random() % 2 == 0 ? 1 + roundings * u : 1 - roundings * u);
  const auto [other_losses, other_statistics] = forward(rounded);
  const double least = 2 * network_tolerance(operand_type(run_.trainer.precision),
                                             run_.trainer.network.labels)
                               .forward;  // both have rounding errors
  const auto allow = [&](double change) { return std::max(least, amplified * change); };
  Tolerances all{allow(relative_difference(other_losses, losses)), {}};
  const double changed = 1 - std::pow(1 - statistics_momentum, static_cast<double>(passes_));
  for (const Statistics& layer_statistics : norms)
    all.running.push_back(
        changed * allow(relative_difference(select_numbers(layer_statistics, other_statistics),
                                            select_numbers(layer_statistics, statistics))));
  return all;
}

void UndividedOracle::compare_loss(const DividedStep& step, double loss, double allowed,
                                   Verification& verification) const {
  if (!(std::fabs(step.loss - loss) <=
        allowed * (in_parts_ ? std::fabs(loss) : std::max(1.0, std::fabs(loss)))))
    verification.fail(fmt::format("the loss of a step of the ranks is {}, and {} {}", step.loss,
                                  loss, not_plain));
}

/// Compares the averages of each normalization. Tolerances are for the part of the averages that
/// the step's batches contribute.
void UndividedOracle::compare_running(const StageState& after, const std::vector<double>& running,
                                      const Tolerances& allowed, Verification& verification) const {
  verification.checked += std::ssize(running);
  const std::vector<Statistics>& norms = plain_->graph().statistics;
  for (std::size_t i = 0; i < norms.size(); ++i)
    if (const double relative = relative_difference(select_numbers(norms[i], after.running),
                                                    select_numbers(norms[i], running));
        !(relative <= allowed.running[i]))
      verification.fail(fmt::format(
          "the moving averages of {} after a step of the ranks differ by {:.3g} of their 2-norm "
          "from those {}",
          norms[i].name, relative, not_plain));
}

void UndividedOracle::update_again(const DividedStep& step) {
  put(step.before, step.scale_before);
  Executor& executor = plain_->executor();
  executor.device().copy(executor.memory(executor.graph().gradients).get(),
                         step.after.values.back().data(), step.after.values.back().size());
  executor.run(Phase::update);
  executor.device().stream().wait();
}

}  // namespace assay
