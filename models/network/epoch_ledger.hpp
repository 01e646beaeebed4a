#pragma once
// The samples that the ranks have taken in an epoch of training.

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/batch_oracle.hpp"

namespace assay {

/// Checks properties of the order of samples, independent of the formula that makes it. In an
/// epoch, the batches of all ranks and passes contain each sample at most once, and as many samples
/// as claimed. Epochs have different orders, and no epoch has the order of the set. Orders of fewer
/// than 20 samples are not compared, since they may be equal by chance (20 samples have 2e18
/// orders).
class EpochLedger {
 public:
  EpochLedger(const DataClaims& claims, Communicator& ranks)
      : claims_(claims), ranks_(ranks), taken_(static_cast<std::size_t>(claims.train_images)) {}

  /// Begins an epoch (from 0) before its step `step`.
  void begin(std::int64_t epoch, std::int64_t step);
  /// Adds a batch that this rank has taken.
  void add(const Batch& batch);
  /// The first fault of the epoch whose steps have ended, equal on all ranks; "" if there is none.
  /// Collective.
  std::string end();

 private:
  std::string fault_of_order();
  std::string fault_of_samples();

  const DataClaims claims_;
  Communicator& ranks_;
  std::vector<std::uint8_t> taken_;  ///< by sample: how often, up to 2
  std::vector<std::int64_t> order_;
  std::vector<std::uint64_t> orders_;  ///< of earlier epochs, as hashes
  std::int64_t epoch_ = 0, first_ = 0, batches_ = 0;
  std::string fault_;
};

}  // namespace assay
