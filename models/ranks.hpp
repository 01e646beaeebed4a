#pragma once
// Sums and copies of small host arrays over the ranks, as models need them.

#include <span>

#include "core/api/communicator.hpp"
#include "core/api/host_device.hpp"

namespace assay {

/// Makes calls on plain host memory, all of them collective.
class RankCalls {
 public:
  explicit RankCalls(Communicator& ranks) : ranks_(ranks) {}
  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  Communicator& communicator() { return ranks_; }

  /// Untimed, for calls on this array.
  void prepare(std::span<double> values);
  /// Element-wise sum over the ranks, in place, the same bits on every rank.
  void sum(std::span<double> values);
  /// Rank 0's values, on every rank.
  void broadcast(std::span<double> values);

 private:
  static Call sum_of(std::span<double> values);
  static Call broadcast_of(std::span<double> values);

  Communicator& ranks_;
  HostStream stream_;
};

}  // namespace assay
