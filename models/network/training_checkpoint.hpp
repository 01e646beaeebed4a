#pragma once
// The checkpoint of a training: what it has, and which training may continue from it.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/network/checkpoint.hpp"
#include "models/network/convergence.hpp"
#include "models/network/state_oracle.hpp"

namespace assay {

struct TrainingProgress {
  std::int64_t epoch = 0, step = 0;  ///< whole epochs, and steps of the next one, that were made
  double losses = 0;                 ///< sum over the steps of this epoch; of all ranks, their mean
  double seconds = 0;                ///< as in EpochResult, without `untimed`
  std::int64_t untimed = 0;  ///< checked steps of this epoch that are still to be counted as others
  std::vector<std::int64_t> bad_samples;  ///< that this rank knows
  std::optional<double> score{};          ///< of a validation since the last step
};

class TrainingCheckpoint {
 public:
  /// The checkpoint in the file of `settings`. All arguments must outlive this.
  TrainingCheckpoint(Trainer& trainer, const Batches& training, Communicator& ranks,
                     const ConvergenceSettings& settings);

  /// Use it at the beginning of a run, before it has cost any time. Collective. InputError on all
  /// ranks if the file cannot be written; on a restart, if it is no whole checkpoint of this
  /// training, or the ranks read different files; else, if the file is there and is anything but a
  /// whole checkpoint of this training, since it would be overwritten; and if the name of its
  /// temporary file is taken (expect_no_other_partial).
  void expect_usable() const;
  /// Collective; rank 0 writes. CaseError as write_checkpoint(), on all ranks.
  CheckpointCost write(const TrainingProgress& progress) const;
  /// Puts the trainer into the state of the checkpoint. Collective. InputError on all ranks as
  /// expect_usable().
  TrainingProgress read() const;
  /// Why the last write() or read() has not kept the state: what the file has, by fingerprints that
  /// were made of the device's memory, is not what the device has. "" if it has.
  const std::string& fault() const { return fault_; }

 private:
  Checkpoint open() const;  ///< on this rank
  Checkpoint open_on_all() const;
  void expect_new() const;
  /// Compares the state of a file with the fingerprints of the device and of the writer.
  void compare(const Checkpoint& file, const Fingerprints& own) const;

  Trainer& trainer_;
  Communicator& ranks_;
  const ConvergenceSettings& settings_;
  std::int64_t steps_;  ///< of an epoch
  std::string architecture_;
  nlohmann::json decisive_;  ///< settings that decide what each step computes
  mutable std::string fault_;
};

}  // namespace assay
