#pragma once
// The batches of a step with several passes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/parallel/parallel_way.hpp"

namespace assay {

/// The samples of each micro-batch: micro-batch m of step s is batch M s + m of an epoch. Data that
/// stay in memory are M batches, like those of M ranks, so that all micro-batches differ.
class MicroBatches {
 public:
  /// `passes`: M, the passes of all groups of ranks in a step. Both references must outlive this
  /// object.
  MicroBatches(const TrainingRun& run, Communicator& ranks, std::int64_t passes)
      : run_(run), ranks_(ranks), passes_(passes) {
    sources_.resize(is_resident(run.data.data) ? static_cast<std::size_t>(passes_) : 1);
  }
  /// Valid until the next call.
  const Batch& at(std::int64_t epoch, std::int64_t step, std::int64_t pass) {
    if (sources_.size() == 1) return source(0).at(epoch, step * passes_ + pass);
    return source(static_cast<std::size_t>(pass)).at(epoch, step);
  }
  /// The first fault of the batches; "" if there is none.
  std::string fault() const {
    for (const auto& source : sources_)
      if (source && !source->fault().empty()) return source->fault();
    return "";
  }

 private:
  OrderedBatches& source(std::size_t i) {
    if (!sources_[i])
      sources_[i] = std::make_unique<OrderedBatches>(run_, ranks_, static_cast<int>(i),
                                                     static_cast<int>(sources_.size()));
    return *sources_[i];
  }

  const TrainingRun& run_;
  Communicator& ranks_;
  std::int64_t passes_;
  std::vector<std::unique_ptr<OrderedBatches>> sources_;
};

}  // namespace assay
