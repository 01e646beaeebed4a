#include "models/parallel/divided_update.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>

#include "core/measure/rank_failure.hpp"
#include "models/network/parameters.hpp"

namespace assay {
namespace {

void put_scalar(Executor& executor, ValueIndex value, double number) {
  if (value != Graph::none) executor.device().fill(executor.tensor(value), number);
}

}  // namespace

void DividedUpdate::begin(Executor& executor) {
  scale_ = LossScale(settings_);
  put_scalar(executor, executor.graph().loss_scale, scale_.scale());
}

void DividedUpdate::restore(const LossScaleState& state, Executor& executor) {
  scale_.restore(state);
  put_scalar(executor, executor.graph().loss_scale, scale_.scale());
}

bool DividedUpdate::agree(bool finite) {
  double worst = finite ? 0 : 1;
  ranks_.allreduce_max(std::span(&worst, 1));
  return worst == 0;
}

/// A loss scale may be too large, so with one the ranks also agree before the update: if a gradient
/// on any rank is not finite, the other ranks write NaN to one of theirs. So all ranks skip the
/// update.
void DividedUpdate::run(Executor& executor, double rate, std::int64_t passes,
                        const std::function<void()>& run) {
  const Graph& graph = executor.graph();
  Device& device = executor.device();
  if (settings_.kind != LossScaleSettings::Kind::none) {
    const bool finite = device.scan(executor.tensor(graph.gradients), {}, nullptr).bad == 0;
    if (!agree(finite) && finite)
      device.fill(executor.tensor(graph.accumulates() ? graph.gradients
                                                      : graph.parameters.front().gradient),
                  std::numeric_limits<double>::quiet_NaN());
  }
  put_scalar(executor, graph.rate, rate);
  put_scalar(executor, graph.unscale, 1 / (static_cast<double>(passes) * scale_.scale()));
  const LossScaleState& scale = scale_.state();
  put_scalar(executor, graph.step, static_cast<double>(scale.steps - scale.skipped + 1));
  run();
  device.stream().wait();
  const bool finite = agree(read_values(executor, graph.counts)[0] == 0);
  scale_.update(finite);
  if (!finite && (scale_.has_diverged() || scale_.stuck()))
    throw WrongResult(fmt::format(
        "training diverged: gradients are not finite in step {}, at a loss scale of {}. Use a "
        "smaller --rate{}.",
        scale_.steps(), scale_.scale(), scale_.has_diverged() ? "" : ", or --loss-scale dynamic"));
  put_scalar(executor, graph.loss_scale, scale_.scale());
}

}  // namespace assay
