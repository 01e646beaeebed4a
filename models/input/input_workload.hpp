#pragma once
// The input pipeline as a workload: a consumer takes batches as a trainer does.

#include <cstdint>
#include <memory>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "models/input/input_audit.hpp"

namespace assay {

struct InputRun {
  PipelineSettings pipeline;
  std::int64_t batches = 8;  ///< that this rank takes in one run
  double step_seconds = 0;   ///< the consumer sleeps after each batch, in place of a training step
  bool cold = false;         ///< drop the files from the page cache before each run
};

/// One run starts the pipeline at the first batch of an epoch and takes all batches, so nothing is
/// prepared before the timer starts. A verified run compares every image with reference_decode(),
/// bit for bit (by its CRC-32C), and some with their definition, and checks its label and its
/// position in the order of the epoch: all by what the case claims (InputAudit), not by `run`. New
/// inputs are another epoch: other images in each batch, and other crops. `ranks` must outlive the
/// workload. CaseError if memory does not suffice, or if `cold` and the files stay in the page
/// cache.
std::unique_ptr<Workload> make_input_workload(std::shared_ptr<const SampleSet> set,
                                              const InputRun& run, const InputClaims& claims,
                                              Communicator& ranks,
                                              std::map<std::string, double> amounts,
                                              double create_seconds);

}  // namespace assay
