#pragma once
// The order in which the stages of a pipeline pass micro-batches forward and backward: `1f1b` as D.
// Narayanan et al., PipeDream, SOSP 2019, but with a flush before each update; `fill-drain` as Y.
// Huang et al., GPipe, NeurIPS 2019.

#include <cstdint>
#include <vector>

#include "models/parallel/way.hpp"

namespace assay {

/// A pass of one micro-batch through one stage.
struct PipelineTask {
  bool forward = true;
  std::int64_t batch = 0;
  bool operator==(const PipelineTask&) const = default;
};

/// The tasks of a stage in a step of `batches` micro-batches. Backward passes follow in the order
/// of the micro-batches, so that gradients are added as by plain accumulation.
std::vector<PipelineTask> pipeline_tasks(PipelineSchedule schedule, int stage, int stages,
                                         std::int64_t batches);
/// The micro-batches whose activations a stage keeps at the same time.
std::int64_t pipeline_slots(PipelineSchedule schedule, int stage, int stages, std::int64_t batches);

/// Seconds of a stage for a micro-batch.
struct StageCost {
  double forward = 0, backward = 0;
  double message = 0;  ///< of an activation, or its gradient, from or to the stage before
};

/// Seconds of all passes of a step, from the first that begins to the last that ends. Messages
/// arrive while their receiver computes.
double pipeline_seconds(PipelineSchedule schedule, const std::vector<StageCost>& stages,
                        std::int64_t batches);
/// The part of `seconds` for which stages do not compute, in the mean over the stages.
double pipeline_bubble(const std::vector<StageCost>& stages, std::int64_t batches, double seconds);

}  // namespace assay
