#pragma once
// The input pipeline alone as a workload: a consumer that takes batches as a trainer does.

#include <cstdint>
#include <memory>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "datasets/images/input_pipeline.hpp"

namespace assay {

struct InputRun {
  PipelineSettings pipeline;
  std::int64_t batches = 8;  ///< of this rank in one run
  double step_seconds = 0;   ///< that the consumer waits with each batch, as for an accelerator
  bool cold = false;         ///< before each run the files leave the page cache
};

/// One run starts the pipeline at the first batch of an epoch and takes all batches, so nothing is
/// made before the clock runs. Checked runs compare every image of theirs with reference_decode(),
/// bit by bit (CRC-32C of each), and its label and its place in the order of the epoch. New inputs
/// are another epoch: other images in each batch, and other crops. `ranks` outlives the workload.
/// CaseError: not enough memory; cold, but the page cache kept the files.
std::unique_ptr<Workload> input_workload(std::shared_ptr<const SampleSet> set, const InputRun& run,
                                         Communicator& ranks, std::map<std::string, double> amounts,
                                         double create_seconds);

}  // namespace assay
