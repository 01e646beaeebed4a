#pragma once
// The batches of a step that has several passes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/parallel/parallel_way.hpp"

namespace assay {

/// The samples of each micro-batch: batch M s + m of an epoch for step s. Data that stay in memory
/// are M batches, as those of M ranks, so that no two micro-batches are alike.
class MicroBatches {
 public:
  MicroBatches(const TrainingRun& run, Communicator& ranks) : passes_(run.trainer.accumulate) {
    const int sources = is_resident(run.data.data) ? static_cast<int>(passes_) : 1;
    for (int i = 0; i < sources; ++i)
      sources_.push_back(std::make_unique<OrderedBatches>(run, ranks, i, sources));
  }
  /// Valid until the next call.
  const Batch& at(std::int64_t epoch, std::int64_t step, std::int64_t pass) {
    if (sources_.size() == 1) return sources_.front()->at(epoch, step * passes_ + pass);
    return sources_[static_cast<std::size_t>(pass)]->at(epoch, step);
  }
  /// The first fault of the batches; "" if there is none.
  std::string fault() const {
    for (const auto& source : sources_)
      if (!source->fault().empty()) return source->fault();
    return "";
  }

 private:
  std::int64_t passes_;
  std::vector<std::unique_ptr<OrderedBatches>> sources_;
};

}  // namespace assay
