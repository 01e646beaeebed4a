#pragma once
// Steps of training, and training to an accuracy, as a workload.

#include <memory>
#include <optional>

#include "core/measure/workload.hpp"
#include "models/network/convergence.hpp"
#include "models/network/trainer.hpp"
#include "models/resnet50/loss_band.hpp"
#include "models/resnet50/training_data.hpp"

namespace assay {

struct TrainingRun {
  TrainerSettings trainer;
  TrainingData data;
  bool cold = false;  ///< files leave the page cache before each timed step, and before training
  ConvergenceSettings convergence;  ///< 0 epochs: throughput alone
  bool keep_unreached = false;      ///< a training that misses the target is no wrong result
  std::optional<LossBand> band;     ///< of the losses of a known training
  int steps = 0;                    ///< that are timed; 0: as many as the timing options say
  double progress_seconds = 5;      ///< between two lines of `convergence.progress`
  /// Connects the same ranks and adds their gradients; null: the workload's ranks do.
  std::shared_ptr<Communicator> gradients{};
  std::map<std::string, double> amounts;
  double create_seconds = 0;
};

/// One run is one step. Before timing, the network is compared with fp64 on two images. Among the
/// timed steps, before some of them, all memory of activations and gradients is poisoned, or the
/// images become others; the same step is then made again from the same state, and what both have
/// learnt must be equal. In that one, as before and after timing, random operations, the sum of the
/// gradients over the ranks and the update are compared with their oracles on the data that the
/// step has; loss and gradients must be finite. With a lag, whose gradients only the next step
/// learns, that one is made with each of these, too.
///
/// With epochs, after the timed steps the network is trained from initial parameters to the target
/// accuracy, which it must reach, or else has no time to accuracy. `plugins` and `ranks` outlive
/// the workload.
Result<std::unique_ptr<Workload>> training_workload(const TrainingRun& run, Plugins& plugins,
                                                    Communicator& ranks);

}  // namespace assay
