#pragma once
// Judges an evaluation: its images, its statistics, and its results.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/batch_oracle.hpp"

namespace assay {

struct Evaluation;  // evaluator.hpp

/// Follows one evaluation after the other on a rank. It keeps the first fault.
class EvaluationOracle {
 public:
  /// All arguments must outlive it.
  EvaluationOracle(const BatchOracle& data, Communicator& ranks) : data_(data), ranks_(ranks) {}

  /// Compares the statistics of the inference graph with the moving averages of the ranks
  /// (`running`), averaged over all ranks. Collective.
  void begin(const Executor& executor, const std::vector<double>& running);
  /// Judges a batch that the executor has loaded.
  void judge_images(const Executor& executor, const Batch& batch);
  /// Recomputes the losses and scores of the batch in fp64 from the logits of the executor.
  void judge_results(const Executor& executor, const Batch& batch);
  /// Adds the results of a batch.
  void add(const Batch& batch, std::span<const double> losses, std::span<const double> scores);
  /// Compares totals and number of images. Collective.
  void end(const Evaluation& evaluation);

  /// The first fault, on any rank after end(); "" if there is none.
  const std::string& fault() const { return fault_; }
  std::int64_t checked() const { return checked_; }  ///< numbers that were compared
  /// Seconds of each evaluation's batches without the checked one, by this object's clock.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  void note(const std::string& fault);

  const BatchOracle& data_;
  Communicator& ranks_;
  double losses_ = 0, scores_ = 0, images_ = 0;
  std::int64_t checked_ = 0;
  std::vector<double> seconds_;
  std::chrono::steady_clock::time_point lap_;  ///< end of the last batch
  bool judged_ = false;                        ///< this batch
  std::string fault_;
};

}  // namespace assay
