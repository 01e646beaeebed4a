#pragma once
// What the steps of a training run were made of, for a row.

#include <map>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/concerns.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Adds up the phases of the timed steps of this rank.
class StepNumbers {
 public:
  /// `input_seconds`: that the step waited for its images.
  void add(const Trainer& trainer, double input_seconds);
  /// Mean seconds of each phase of a step, and what narrow numbers lost.
  std::map<std::string, Metric> metrics() const;

 private:
  StepSeconds sum_;
  Concerns concerns_;
  double input_ = 0, steps_ = 0;
};

/// Seconds of all operations of a kind and direction in a step of `batches` ("conv_bwd_data_s"),
/// each run alone: the least of a few runs.
std::map<std::string, Metric> operation_metrics(Executor& executor, std::int64_t batches);

/// What a row says of a network's run: which backends compute how many of its operations.
Executed executed_of(const Executor& executor, Precision precision, int threads);

}  // namespace assay
