#pragma once
// Sums and broadcasts of small host arrays over the ranks.

#include <span>

#include "core/api/communicator.hpp"
#include "core/api/host_device.hpp"

namespace assay {

/// All functions that take an array are collective.
class RankCalls {
 public:
  explicit RankCalls(Communicator& ranks) : ranks_(ranks) {}
  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  Communicator& communicator() { return ranks_; }

  /// Prepares sum() and broadcast() of this array (Communicator::prepare). Untimed.
  void prepare(std::span<double> values);
  /// Element-wise sum over the ranks, in place, with equal bits on all ranks.
  void sum(std::span<double> values);
  /// Copies rank 0's values to all ranks.
  void broadcast(std::span<double> values);

 private:
  static Call make_sum(std::span<double> values);
  static Call make_broadcast(std::span<double> values);

  Communicator& ranks_;
  HostStream stream_;
};

}  // namespace assay
