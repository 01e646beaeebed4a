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

/// The tasks of a stage in a step of `batches` micro-batches. Backward passes are in the order of
/// the micro-batches, so gradients are added in the same order as in plain accumulation.
std::vector<PipelineTask> pipeline_tasks(PipelineSchedule schedule, int stage, int stages,
                                         std::int64_t batches);
/// The number of micro-batches whose activations a stage keeps at the same time.
std::int64_t pipeline_slots(PipelineSchedule schedule, int stage, int stages, std::int64_t batches);

/// Seconds of a stage for a micro-batch.
struct StageCost {
  double forward = 0, backward = 0;
  double message = 0;  ///< an activation from the previous stage, or its gradient to it
};

/// Seconds from the beginning of a step's first pass to the end of its last one. Messages may
/// arrive while their receiver computes.
double pipeline_seconds(PipelineSchedule schedule, const std::vector<StageCost>& stages,
                        std::int64_t batches);
/// The part of `seconds` in which stages do not compute, averaged over the stages.
double pipeline_bubble(const std::vector<StageCost>& stages, std::int64_t batches, double seconds);

}  // namespace assay
