#pragma once
// Training steps, and training to a target accuracy, as a workload.

#include <memory>
#include <optional>

#include "core/measure/workload.hpp"
#include "models/network/convergence.hpp"
#include "models/network/definition.hpp"
#include "models/network/loss_band.hpp"
#include "models/network/trainer.hpp"
#include "models/network/training_data.hpp"
#include "models/parallel/way.hpp"

namespace assay {

struct TrainingRun {
  TrainerSettings trainer;
  TrainingData data;
  Parallel parallel;
  bool cold = false;  ///< evict files from the page cache before each timed step and the training
  ConvergenceSettings convergence;  ///< with 0 epochs: only throughput is measured
  bool keep_unreached = false;      ///< a training that misses the target still counts as correct
  std::optional<LossBand> band;     ///< range for the losses, if this is a known training
  int steps = 0;                    ///< number of timed steps; 0: the timing options decide
  double progress_seconds = 5;      ///< between two lines of `convergence.progress`
  /// Connects the same ranks and sums their gradients; null: the workload's ranks do.
  std::shared_ptr<Communicator> gradients{};
  JobNetwork network{};  ///< network of the sum of the gradients; if set, its ranks are `gradients`
  std::map<std::string, double> amounts;
  double create_seconds = 0;
  /// Parameters of the case. The claims about the steps are read only from them, not from the
  /// settings that were made from them for the training. None: the steps are not judged as a whole.
  std::optional<Settings> claims{};
  NetworkDefinition definition{};  ///< of the network that the case names
  std::uint64_t claimed_seed = 1;  ///< of the run, without its trial
  bool self_check = false;         ///< compare a small training with a reference (self_check.hpp)
};

/// One run is one step. Before timing, the network is compared with fp64
/// (compare_with_reference()). An audit either poisons the memory of all activations and gradients,
/// or only uses other images (data that are not resident change in each step anyway). Afterwards
/// the audited step is repeated from the same state, and both must give equal weights. In the
/// repetition, and in steps before and after timing, random operations, the sum of the gradients
/// over the ranks and the update are compared with their oracles on the step's own data, and loss
/// and gradients must be finite. With a lag, each of these steps is followed by one more, which
/// applies its gradients. If a timed step has gradients that are not finite, and a smaller loss
/// scale would not help, the timing ends with WrongResult.
///
/// With epochs, the network is then trained from initial parameters. Unless it reaches the target
/// accuracy, the row has no time to accuracy. `plugins` and `ranks` must outlive the workload.
Result<std::unique_ptr<Workload>> make_training_workload(const TrainingRun& run, Plugins& plugins,
                                                         Communicator& ranks);

}  // namespace assay
