// A barrier as a workload, verified by causality (collective_operation.hpp).

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <vector>

#include "comm/collective_operation.hpp"
#include "core/base/clock.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds delay{5};  // of the late rank
constexpr int most_rounds = 8;  // the first ranks are late in turn, then the last one
constexpr int entering_tag = 18;

class BarrierWorkload final : public Workload {
 public:
  BarrierWorkload(std::unique_ptr<Communicator> ranks, Communicator& known, Device& device,
                  const CollectiveSettings& settings, ArrivalSource arrivals)
      : ranks_(std::move(ranks)),
        known_(known),
        device_(device),
        settings_(settings),
        arrivals_(std::move(arrivals)) {
    ranks_->prepare(call_);
  }

  Stream& stream() override { return device_.stream(); }
  Device* device() override { return &device_; }
  void reset() override {}
  void run(Stream& stream) override {
    if (settings_.nonblocking) {
      Request request = ranks_->start(call_, stream);
      ranks_->wait(request);
    } else {
      ranks_->run(call_, stream);
    }
  }
  bool batchable() const override { return true; }
  /// A barrier has no output to poison: its only result is when it ends.
  void begin_audit(Audit) override {}
  Verification end_audit() override { return verify(); }
  Verification verify_before() override { return verify(); }
  Verification verify_after() override { return verify(); }
  ArrivalSource arrival_source() const override { return arrivals_; }
  Execution execution() const override { return make_executed(settings_, *ranks_, call_); }
  std::map<std::string, double> work() const override { return {}; }
  std::map<std::string, double> setup() const override { return {}; }

 private:
  Verification verify() {
    Verification result;
    result.passed = true;
    const int n = ranks_->size();
    std::vector<int> turns;
    for (int rank = 0; rank < n; ++rank)
      if (rank < most_rounds - 1 || rank == n - 1) turns.push_back(rank);
    for (const int turn : turns) {
      const double seconds = n == 1 ? run_alone() : run_with_late_rank(turn);
      if (turn == ranks_->rank() || n == 1 || seconds >= delay_seconds()) continue;
      result.passed = false;
      result.reason = fmt::format(
          "left the barrier after {:.3g} s, although rank {} entered at least {:.3g} s after this "
          "rank",
          seconds, turn, delay_seconds());
    }
    // Each rank checks all of its waits.
    result.checked = result.outputs = n == 1 ? 0 : static_cast<std::int64_t>(turns.size());
    result.reference = n == 1 ? "one rank: a barrier has nothing to wait for"
                              : fmt::format("causality: {} of {} ranks entered {} ms late",
                                            turns.size(), n, delay.count());
    result.exact = true;
    return result;
  }

  double run_alone() {
    run(stream());
    stream().wait();
    return 0;
  }

  /// Seconds that this rank spent in a barrier that rank `turn` entered late.
  double run_with_late_rank(int turn) {
    char word = 1;
    Stream& stream = device_.stream();
    const Buffer message{&word, 1, DataType::u8};
    if (ranks_->rank() == turn) {
      for (int other = 0; other < ranks_->size(); ++other) {
        if (other == turn) continue;
        Request request = known_.receive(message, other, entering_tag, stream);
        known_.wait(request);
      }
      std::this_thread::sleep_for(delay);
    }
    const auto start = Clock::now();
    if (ranks_->rank() != turn) {
      Request request = known_.send(message, turn, entering_tag, stream);
      known_.wait(request);
    }
    run(stream);
    stream.wait();
    return seconds_since(start);
  }

  static double delay_seconds() { return std::chrono::duration<double>(delay).count(); }

  std::unique_ptr<Communicator> ranks_;
  Communicator& known_;
  Device& device_;
  CollectiveSettings settings_;
  ArrivalSource arrivals_;
  Call call_{Collective::barrier, {}, {}, ReduceOp::sum, 0};
};

}  // namespace

std::unique_ptr<Workload> make_barrier_workload(std::unique_ptr<Communicator> ranks,
                                                Communicator& known, Device& device,
                                                const CollectiveSettings& settings,
                                                ArrivalSource arrivals) {
  return std::make_unique<BarrierWorkload>(std::move(ranks), known, device, settings,
                                           std::move(arrivals));
}

}  // namespace assay
