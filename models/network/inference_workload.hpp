#pragma once
// Inference of one batch that stays in memory, as a workload.

#include <map>
#include <memory>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

struct InferenceRun {
  /// The network, its backends and the seed; the fields about learning are not used.
  TrainerSettings trainer;
  int steps = 0;  ///< number of timed passes; 0: the timing options decide
  std::map<std::string, double> amounts;
  double create_seconds = 0;
};

/// One run is one forward pass, which computes logits, loss and class of each image. Parameters are
/// a training's initial ones (with parity_last_norm). Statistics come from a training pass over
/// parity_batch() images. Ranks work independently, each on its own images.
///
/// Before timing, logits and losses of random images are compared with the network in fp64 by
/// `reference`; for a network that is too large, those of a smaller form (parity_form()) are
/// compared. An audit poisons all activations and results, or loads other images. After the audited
/// pass, the pass is repeated with the same images, and random operations are compared with their
/// oracles; the results of both passes must be equal, and the scores must agree with the pass's own
/// logits. The same is done after the last timed run; its results are also compared with fp64.
/// `plugins` and `ranks` must outlive the workload.
Result<std::unique_ptr<Workload>> make_inference_workload(const InferenceRun& run, Plugins& plugins,
                                                          Communicator& ranks);

}  // namespace assay
