#include "models/network/concerns.hpp"

#include <algorithm>
#include <vector>

namespace assay {

void Concerns::add(const Trainer& trainer) {
  const Graph& graph = trainer.graph();
  narrow_ = graph.stored != Graph::none ||
            trainer.settings().loss_scale.kind != LossScaleSettings::Kind::none;
  scale_ = trainer.loss_scale().scale();
  if (!trainer.has_updated()) return;
  const std::vector<double> counts = trainer.counts();
  ++steps_;
  not_finite_ += counts[0];
  if (counts[0] > 0) {
    ++skipped_;
    return;
  }
  double elements = 0;
  for (const Parameter& parameter : graph.parameters)
    elements += static_cast<double>(parameter.elements());
  // The padding between parameters (to cache lines) also has gradients of 0; it must not count.
  const double filling = static_cast<double>(graph.elements(graph.gradients)) - elements;
  zeros_ += (counts[1] - filling) / elements;
  stale_ += counts[2] / elements;
}

std::map<std::string, Metric> Concerns::metrics() const {
  if (!narrow_ || steps_ == 0) return {};
  const double counted = std::max(1.0, steps_ - skipped_);
  return {{"gradients_zero_percent", {100 * zeros_ / counted, "%", "lower"}},
          {"gradients_not_finite", {not_finite_ / steps_, "", "lower"}},
          {"weights_stale_percent", {100 * stale_ / counted, "%", "lower"}},
          {"steps_skipped", {skipped_, "", "lower"}},
          {"loss_scale", {scale_, "", ""}}};
}

}  // namespace assay
