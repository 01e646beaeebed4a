// ratio: ResNet-50's 161 allreduces by gloo over TCP, 2 ranks, unfused over fused (4 MiB)
// target: >= 2
// pairs: 30
// Missed on one node; it is a target for networks, and for many ranks. Over loopback a message
// costs too little: 161 times 0.1 ms of 80 ms, and one call of all the 102 MB takes 74 ms. The
// tensors lie side by side, so nothing is copied. 4 MiB is the best of 256 KiB to 64 MiB. Over mpi,
// which is fastest with messages that stay in a cache, any fusion is slower than tensor by tensor.

#include <chrono>
#include <numeric>

#include "comm/collectives_benchmark.hpp"
#include "comm/forwarding.hpp"
#include "comm/layers/fusion.hpp"
#include "comm/layers/layers.hpp"
#include "comm/replay_workload.hpp"
#include "tests/self_benchmark/support/allreduce_pairs.hpp"

namespace assay {
namespace {

/// One side: a replay of all gradients, verified, over a communicator that outlives it.
class Side {
 public:
  Side(Communicator& ranks, Communicator& transport, bool started) : ranks_(ranks) {
    CollectiveShape shape;
    shape.ranks = ranks.size();
    const std::vector<std::int64_t> counts = replay_counts(CollectivesBenchmark(), "resnet50");
    shape.bytes = 4 * std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    OperationSetup setup;
    setup.rank = ranks.rank();
    setup.ranks_here = ranks.size();
    workload_ =
        replay_workload(CollectiveProblem(shape), {counts, started, 0}, {std::ssize(counts)},
                        std::make_unique<ForwardingCommunicator>(transport), {"library", "gloo"},
                        device_, 0, setup);
    expect(workload_->verify_before());
  }
  /// The median of 3 runs, of the slowest rank.
  double timed() {
    double times[3];
    for (double& time : times) {
      workload_->reset();
      ranks_.barrier();
      const auto start = std::chrono::steady_clock::now();
      workload_->run(workload_->stream());
      time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    ranks_.allreduce_max(times);
    return median(times);
  }
  void verify() { expect(workload_->verify_after()); }

 private:
  static void expect(const Verification& verification) {
    if (!verification.passed) throw std::runtime_error(verification.reason);
  }
  Communicator& ranks_;
  HostDevice device_;
  std::unique_ptr<Workload> workload_;
};

nlohmann::json unfused_and_fused(self_benchmark::MpiRanks& ranks, int pairs) {
  Result<std::unique_ptr<Communicator>> made = ranks.by("gloo");
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
  Communicator& gloo = *std::get<std::unique_ptr<Communicator>>(made);
  const auto fusion = make_fusion(gloo, 4 << 20);
  Side apart(*ranks, gloo, false), together(*ranks, *fusion, true);
  const nlohmann::json measured = self_benchmark::alternate(
      pairs, [&] { return apart.timed(); }, [&] { return together.timed(); });
  apart.verify();
  together.verify();
  return {{"pairs", measured}, {"unit", "s"}, {"note", "161 tensors, 3 replays a side"}};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::self_benchmark::main_on_two_ranks(argc, argv, assay::unfused_and_fused);
}
