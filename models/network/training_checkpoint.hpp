#pragma once
// The checkpoint of a training: its content, and which training may continue from it.

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
  std::int64_t epoch = 0, step = 0;  ///< completed epochs, and completed steps of the next one
  double losses = 0;                 ///< sum over this epoch's steps; stored: the ranks' mean
  double seconds = 0;                ///< as in EpochResult, without `untimed`
  std::int64_t untimed = 0;          ///< checked steps of this epoch whose time is not counted yet
  std::vector<std::int64_t> bad_samples;  ///< those that this rank knows
  std::optional<double> score{};          ///< of a validation since the last step
};

class TrainingCheckpoint {
 public:
  /// The checkpoint in the file of `settings`. All arguments must outlive this.
  TrainingCheckpoint(Trainer& trainer, const Batches& training, Communicator& ranks,
                     const ConvergenceSettings& settings);

  /// Call it at the beginning of a run, so that mistakes cost no time. Collective. InputError on
  /// all ranks if the file cannot be written, or if the name of its temporary file is taken
  /// (expect_no_other_partial). On a restart: also if the file is not a complete checkpoint of this
  /// training, or if the ranks read different files. Otherwise: also if the file exists and is not
  /// a complete checkpoint of this training, because it would be overwritten.
  void expect_usable() const;
  /// Collective; rank 0 writes. CaseError as from write_checkpoint(), on all ranks.
  CheckpointCost write(const TrainingProgress& progress) const;
  /// Puts the trainer into the state of the checkpoint. Collective. InputError on all ranks, as
  /// from expect_usable().
  TrainingProgress read() const;
  /// How the state in the file differs from the state on the device after the last write() or
  /// read(), according to fingerprints of the device's memory; "" if it does not differ.
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
