#pragma once
// The gradient exchange of one training step: one allreduce for each tensor of a list, during a
// simulated backward pass.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective_operation.hpp"

namespace assay {

struct ReplaySettings {
  /// Elements of each tensor, in the order in which the backward pass makes them.
  std::vector<std::int64_t> counts;
  /// True: each allreduce is started when its tensor is ready, and all are waited for at the end.
  /// False: each allreduce completes before the next one. Only started calls can be fused. Has no
  /// effect if compute_seconds is above 0: calls are then always started.
  bool started = false;
  /// Length of the simulated backward pass. The tensors become ready at equal intervals, the last
  /// one at its end. 0: all are ready at once. The time of a run beyond it is exposed communication
  /// (the row's executed.exposed_s).
  double compute_seconds = 0;
  /// True: the started allreduces are polled during the backward pass, as a host can do while an
  /// accelerator computes. False: the backward pass occupies this processor, so the transport
  /// progresses only in its own threads or at each start.
  bool polled = false;
};

/// Why `ranks` cannot make the replay's calls, or empty. The same on every rank.
std::string why_not_replay(const CollectiveProblem& problem, const ReplaySettings& replay,
                           const Communicator& ranks);

/// The requirements of a case, read from its settings as text. The calls that reach the
/// communicator must meet them.
struct ReplayClaims {
  std::int64_t tensors = 0;
  double compute_seconds = 0;
  bool polled = false;
};

/// `problem` is the allreduce of all tensors, which are adjacent in its buffers; whole buffers are
/// verified. Takes over `ranks`, which may compress or fuse the calls. std::logic_error if the
/// problem is not an allreduce of exactly as many elements as the tensors have.
std::unique_ptr<Workload> replay_workload(const CollectiveProblem& problem, ReplaySettings replay,
                                          const ReplayClaims& claims,
                                          std::unique_ptr<Communicator> ranks,
                                          const CollectiveSettings& settings, Device& device,
                                          double create_seconds, const OperationSetup& setup);

}  // namespace assay
