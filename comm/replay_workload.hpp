#pragma once
// The gradient exchange of one training step: an allreduce for each tensor of a list, started while
// a computation goes on that stands for the backward pass.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective_operation.hpp"

namespace assay {

struct ReplaySettings {
  /// Elements of each tensor, in the order in which the backward pass makes them.
  std::vector<std::int64_t> counts;
  /// Start every allreduce when its tensor is ready, and wait for all of them at the end; else each
  /// one is finished before the next. Fusion combines started calls only. Always so where there is
  /// a computation.
  bool started = false;
  /// Length of the computation. The tensors become ready at equal intervals, the last one at its
  /// end; 0: all are ready at once. The time of a run beyond it is exposed communication (the row's
  /// executed.exposed_s).
  double compute_seconds = 0;
  /// Poll the started allreduces during the computation, as a host can while an accelerator
  /// computes. Else the computation occupies this processor, as a backward pass on it does: the
  /// transport makes progress by threads of its own, or at each start.
  bool polled = false;
};

/// Why `ranks` cannot make the replay's calls, or empty. The same on every rank.
std::string why_not_replay(const CollectiveProblem& problem, const ReplaySettings& replay,
                           const Communicator& ranks);

/// `problem` is the allreduce of all tensors: they lie side by side in its buffers, which are
/// verified whole. Takes over `ranks`, which may compress or fuse the calls. std::logic_error where
/// the problem is no allreduce of exactly the tensors' elements.
std::unique_ptr<Workload> replay_workload(const CollectiveProblem& problem, ReplaySettings replay,
                                          std::unique_ptr<Communicator> ranks,
                                          const CollectiveSettings& settings, Device& device,
                                          double create_seconds, const OperationSetup& setup);

}  // namespace assay
