#pragma once
// The allreduces of a training step: the tensors of a list one after the other, as one call.

#include <cstdint>
#include <vector>

#include "comm/forwarding.hpp"

namespace assay {

struct ReplaySettings {
  std::vector<std::int64_t> counts;  ///< elements of each tensor, in the order of their coming
  /// Whether tensors are started as they come and waited for in the end, or each is done before the
  /// next (fusion has calls to start alone).
  bool started = false;
  /// Length of a computation that makes the tensors, at equal intervals, the last one at its end;
  /// 0: all are there at once. What a run takes beyond it is exposed (the row's
  /// executed.exposed_s, which core makes of the samples).
  double compute_seconds = 0;
  /// Whether what is under way is polled meanwhile, as a host can whose accelerator computes. Else
  /// the computation keeps this processor, as a backward pass on it does: a transport then goes on
  /// by itself, or at each tensor's coming.
  bool polled = false;
};

/// An allreduce of all the tensors' elements, side by side in the buffers, is made tensor by tensor
/// over `under`. Other calls and other sizes are refused.
class Replay final : public ForwardingCommunicator {
 public:
  Replay(Communicator& under, ReplaySettings settings);

  std::string why_not(const Call& call) const override;
  void prepare(const Call& call) override;
  void describe(const Call& call, Executed& executed) const override;
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;

 private:
  /// Shows each tensor's part of a call.
  template <class Body>
  void each(const Call& call, Body body) const;

  ReplaySettings settings_;
  std::int64_t total_ = 0;
  std::vector<Request> requests_;
};

}  // namespace assay
