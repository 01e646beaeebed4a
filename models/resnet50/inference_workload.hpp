#pragma once
// Inference of one batch that stays in memory, as a workload.

#include <map>
#include <memory>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

struct InferenceRun {
  /// The network, its backends and the seed; how it learns and buckets are not used.
  TrainerSettings network;
  int steps = 0;  ///< that are timed; 0: as many as the timing options say
  std::map<std::string, double> amounts;
  double create_seconds = 0;
};

/// One run is one forward pass: logits, loss and found class of each image, by the parameters that
/// training begins with (parity_last_norm) and the statistics of a training pass over
/// parity_batch() images.
///
/// Before timing, logits and losses of random images are compared with those of the network in fp64
/// by `reference`. Among the timed runs, before some of them, all activations and results are
/// poisoned, or the images become others; the same images then pass again, with random operations
/// compared with their oracles, and the results of both must be equal. So, too, after the last
/// timed run, whose results are also compared with fp64. `plugins` and `ranks` outlive the
/// workload. Ranks work side by side, each on its own images.
Result<std::unique_ptr<Workload>> inference_workload(const InferenceRun& run, Plugins& plugins,
                                                     Communicator& ranks);

}  // namespace assay
