#include "models/parallel/pipeline_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/measure/run_case.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/tolerance.hpp"

namespace assay {
namespace {

constexpr const char* not_plain = "in plain accumulation on the undivided network";

}  // namespace

PipelineOracle::PipelineOracle(const TrainingRun& run, const Executor& whole, Plugins& plugins)
    : run_(run), alone_(serial_communicator()) {
  TrainerSettings settings = run.trainer;
  settings.executor.measured = false;
  settings.executor.chosen = whole.chosen();
  auto made = Trainer::make(settings, plugins, *alone_);
  if (const auto* const refusal = std::get_if<Unsupported>(&made))
    throw UnsupportedCase(refusal->reason);
  plain_ = std::move(std::get<std::unique_ptr<Trainer>>(made));
  if (run.claims)
    oracle_ = std::make_unique<StepOracle>(
        StepClaims(of_one_rank(*run.claims), run.definition.input), plain_->executor(), *alone_);
  checks_ = std::make_unique<CheckedSteps>(*plain_, *alone_, run.convergence.rate, oracle_.get());
}

void PipelineOracle::put(const StageState& state, const LossScaleState& scale) {
  put_state(state, plain_->executor());
  Trainer::State now;
  plain_->save(now);
  now.running = state.running;
  now.loss_scale = scale;
  plain_->exchange(now);
}

Verification PipelineOracle::judge(const PipelineStep& step,
                                   const std::function<const Batch&(std::int64_t pass)>& batch) {
  put(step.after, step.scale_after);
  Trainer::State after;
  plain_->save(after);
  put(step.before, step.scale_before);
  if (oracle_) oracle_->expect_rate(step.rate);
  checks_->set_rate(step.rate);
  for (std::int64_t pass = 0; pass < run_.trainer.accumulate; ++pass) {
    const Batch& loaded = batch(pass);
    checks_->keep(loaded.images, loaded.labels);
  }
  Verification found = checks_->make(not_plain);
  checks_->forget();
  const bool skipped = step.scale_after.skipped > step.scale_before.skipped;
  if (skipped != checks_->skipped())
    found.fail(fmt::format("a step of the pipeline was {}, and that of plain accumulation {}",
                           skipped ? "skipped" : "made", skipped ? "made" : "skipped"));
  if (!found.passed || skipped) return found;
  ++steps_;
  compare(step, after, found);
  found.outputs = found.checked;
  return found;
}

void PipelineOracle::compare(const PipelineStep& step, const Trainer::State& after,
                             Verification& found) {
  compare_gradients(step.after, found);
  compare_numbers(step, found);
  const Trainer::Difference difference = plain_->difference(after);
  if (!(difference.relative <= difference.allowed))
    found.fail(std::isinf(difference.relative)
                   ? fmt::format("after a step of the pipeline, {} is not the rounded weight",
                                 difference.what)
                   : fmt::format("after a step of the pipeline, {} differs by {:.3g} of its 2-norm "
                                 "from that {}",
                                 difference.what, difference.relative, not_plain));
}

/// Of each parameter. The order of sums is the same, so that they are equal bit by bit where each
/// operation is.
void PipelineOracle::compare_gradients(const StageState& after, Verification& found) {
  const Graph& graph = plain_->graph();
  const std::vector<double> all = read_values(plain_->executor(), graph.gradients);
  std::vector<double> of_stages(all.size());
  decode(graph.value(graph.gradients).type, after.values.back().data(), of_stages);
  const double allowed =
      repeated_tolerance(run_.trainer.precision, run_.trainer.learning.narrow_gradients);
  bool equal = true;
  for (const Parameter& parameter : graph.parameters) {
    const auto first = static_cast<std::size_t>(parameter.offset),
               count = static_cast<std::size_t>(parameter.elements());
    const auto is = std::span<const double>(of_stages).subspan(first, count),
               should = std::span<const double>(all).subspan(first, count);
    found.checked += parameter.elements();
    if (std::ranges::equal(is, should)) continue;
    equal = false;
    if (const double relative = relative_difference(is, should); !(relative <= allowed))
      found.fail(fmt::format("the gradient of {} differs by {:.3g} of its 2-norm from that {}",
                             parameter.name, relative, not_plain));
  }
  if (equal) ++equal_steps_;
}

void PipelineOracle::compare_numbers(const PipelineStep& step, Verification& found) const {
  const double allowed = repeated_tolerance(run_.trainer.precision), loss = plain_->loss();
  if (!(std::fabs(step.loss - loss) <= allowed * std::max(1.0, std::fabs(loss))))
    found.fail(fmt::format("the loss of a step of the pipeline is {}, and {} {}", step.loss, loss,
                           not_plain));
  const std::vector<double>& running = plain_->running_statistics();
  if (running.empty()) return;
  found.checked += std::ssize(running);
  if (const double relative = relative_difference(step.after.running, running);
      !(relative <= allowed))
    found.fail(fmt::format(
        "the moving averages after a step of the pipeline differ by {:.3g} of their 2-norm from "
        "those {}",
        relative, not_plain));
}

}  // namespace assay
