#pragma once
// Evaluates a network during its training, on images of a validation set.

#include <memory>

#include "models/network/batches.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class EvaluationOracle;  // evaluation_oracle.hpp

/// The result over the images of all ranks.
struct Evaluation {
  double loss = 0;  ///< mean, of cross-entropy without label smoothing
  Quality quality = Quality::accuracy;
  double score = 0;  ///< of that quality: the mean of the samples' scores
  std::int64_t images = 0;
  double check_seconds = 0;  ///< extra time of the checked batch, and of the oracle
};

/// Runs the inference graph of a trainer's network. It shares the memory of the trainer's
/// parameters and uses its moving averages of statistics.
class Evaluator {
 public:
  /// `trainer` and `ranks` must outlive the evaluator.
  static Result<std::unique_ptr<Evaluator>> make(Trainer& trainer, Plugins& plugins,
                                                 Communicator& ranks);

  /// Evaluates all images of `batches` once. Collective: all ranks have the same number of steps.
  /// In one batch, drawn by the seed of `check`, the operations that `check` names are compared
  /// with their oracles. `oracle` judges the statistics, this batch as a whole, and the result.
  Evaluation evaluate(Batches& batches, StepCheck* check = nullptr,
                      EvaluationOracle* oracle = nullptr);
  Executor& executor() { return *executor_; }

 private:
  Evaluator(Trainer& trainer, std::unique_ptr<Executor> executor, Communicator& ranks)
      : trainer_(trainer), executor_(std::move(executor)), ranks_(ranks) {}
  void put_statistics();
  void run(StepCheck* check);

  Trainer& trainer_;
  std::unique_ptr<Executor> executor_;
  Communicator& ranks_;
};

}  // namespace assay
