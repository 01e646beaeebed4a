#pragma once
// How well a network that is being trained does on images that it does not learn.

#include <memory>

#include "models/network/batches.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Of all ranks.
struct Evaluation {
  double loss = 0;      ///< mean cross-entropy, without smoothing
  double accuracy = 0;  ///< part of the images whose class has the largest logit
  std::int64_t images = 0;
};

/// The network of a trainer, with whose parameters it shares memory, and its moving averages.
class Evaluator {
 public:
  /// `trainer` and `ranks` must live as long.
  static Result<std::unique_ptr<Evaluator>> make(Trainer& trainer, Plugins& plugins,
                                                 Communicator& ranks);

  /// All of `batches`, from epoch 0 and step 0 on. Collective: all ranks have as many steps.
  /// Operations of the first batch that `check` names are compared with their oracles.
  Evaluation evaluate(Batches& batches, StepCheck* check = nullptr);
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
