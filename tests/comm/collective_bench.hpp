#pragma once
// A collective case over ranks that are threads of this process.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "comm/algorithms/algorithm.hpp"
#include "comm/bisection.hpp"
#include "comm/collective_operation.hpp"
#include "comm/forwarding.hpp"
#include "comm/replay_workload.hpp"
#include "core/api/host_device.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay::testing_fakes {

/// A change that a rank's communicator makes after the real call.
using Spoil = std::function<void(const Call&)>;

/// A transport that is right, but for what `spoil` does to it.
class SpoilingCommunicator final : public ForwardingCommunicator {
 public:
  SpoilingCommunicator(Communicator& under, Spoil spoil, bool runs = true)
      : ForwardingCommunicator(under), spoil_(std::move(spoil)), runs_(runs) {}
  void run(const Call& call, Stream& stream) override {
    if (runs_) under().run(call, stream);
    if (spoil_) spoil_(call);
  }

 private:
  Spoil spoil_;
  bool runs_;
};

/// The workload of one rank, with the memory that it lives in.
struct RankCase {
  HostDevice device;
  std::unique_ptr<Workload> workload;
};

inline std::unique_ptr<RankCase> rank_case(const CollectiveShape& shape, Communicator& ranks,
                                           std::unique_ptr<Communicator> through,
                                           bool nonblocking = false,
                                           const std::optional<ReplaySettings>& replay = {}) {
  auto made = std::make_unique<RankCase>();
  const CollectiveProblem problem(shape);
  const CollectiveSettings settings{"library", "threads", nonblocking};
  OperationSetup setup;
  setup.rank = ranks.rank();
  if (replay) {
    made->workload = replay_workload(
        problem, *replay, {std::ssize(replay->counts), replay->compute_seconds, replay->polled},
        std::move(through), settings, made->device, 0, setup);
    return made;
  }
  if (shape.pattern == Pattern::bisection) {
    made->workload = make_bisection_workload(problem, std::move(through), settings, made->device,
                                             make_collective_oracle(problem, setup.rank), 0, setup);
    return made;
  }
  made->workload =
      shape.pattern == Pattern::barrier
          ? make_barrier_workload(std::move(through), ranks, made->device, settings, {})
          : make_operation_workload(
                problem, collective_operation(problem, std::move(through), settings), made->device,
                make_collective_oracle(problem, setup.rank), 0, setup);
  return made;
}

}  // namespace assay::testing_fakes
