#include "comm/replay_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "comm/forwarding.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/verified_workload.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

void expect_allreduce(const CollectiveProblem& problem, const ReplaySettings& replay) {
  const std::int64_t elements =
      std::accumulate(replay.counts.begin(), replay.counts.end(), std::int64_t{0});
  if (problem.shape().pattern != Pattern::allreduce || problem.elements() != elements)
    throw std::logic_error("the problem of a replay is the allreduce of all its tensors");
}

/// The call of each tensor: its part of the call of all tensors.
std::vector<Call> make_calls(const Call& all, const std::vector<std::int64_t>& counts) {
  std::vector<Call> calls;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    calls.push_back(
        {all.what, all.send.part(first, count), all.receive.part(first, count), all.op, all.root});
    first += count;
  }
  return calls;
}

/// Counts the calls that reach a communicator.
class CountedCalls final : public ForwardingCommunicator {
 public:
  struct Counts {
    std::int64_t calls = 0, elements = 0, polls = 0;
  };
  explicit CountedCalls(std::unique_ptr<Communicator> ranks)
      : ForwardingCommunicator(*ranks), ranks_(std::move(ranks)) {}
  Counts take() { return std::exchange(counts_, {}); }

  void run(const Call& call, Stream& stream) override {
    count(call);
    ForwardingCommunicator::run(call, stream);
  }
  Request start(const Call& call, Stream& stream) override {
    count(call);
    return ForwardingCommunicator::start(call, stream);
  }
  bool done(Request& request) override {
    ++counts_.polls;
    return ForwardingCommunicator::done(request);
  }

 private:
  void count(const Call& call) {
    ++counts_.calls;
    counts_.elements += call.send.count;
  }

  std::unique_ptr<Communicator> ranks_;
  Counts counts_;
};

class ReplayWorkload final : public VerifiedWorkload {
 public:
  ReplayWorkload(const CollectiveProblem& problem, ReplaySettings replay,
                 const ReplayClaims& claims, std::unique_ptr<Communicator> ranks,
                 const CollectiveSettings& settings, Device& device, double create_seconds,
                 const OperationSetup& setup)
      : VerifiedWorkload(device, collective_tensors(problem, *ranks, settings),
                         make_collective_oracle(problem, ranks->rank()), problem.amounts(),
                         create_seconds, setup),
        problem_(problem),
        replay_(std::move(replay)),
        claims_(claims),
        ranks_(std::move(ranks)),
        settings_(settings),
        started_(replay_.started || replay_.compute_seconds > 0),
        interval_(replay_.compute_seconds / static_cast<double>(replay_.counts.size())),
        requests_(replay_.counts.size()) {
    bind_first();
  }

  /// Uses counts and times of the calls that reached the communicator.
  std::map<std::string, double> take_done() override {
    const std::int64_t runs = std::exchange(runs_, 0);
    const CountedCalls::Counts done = ranks_.take();
    const double shortest = std::exchange(shortest_, std::numeric_limits<double>::infinity());
    // If one rank has a fault, all ranks throw.
    double wrong[] = {std::abs(static_cast<double>(done.calls - runs * claims_.tensors)),
                      claims_.polled ? 0.0 : static_cast<double>(done.polls),
                      std::max(0.0, (1 - 1e-9) * claims_.compute_seconds - shortest)};
    ranks_.allreduce_max(wrong);
    if (wrong[0] > 0)
      throw WrongResult(
          fmt::format("the timed runs have made other calls than the case names ({} in {} runs, "
                      "not {} in each)",
                      done.calls, runs, claims_.tensors));
    if (wrong[1] > 0) throw WrongResult("the calls were polled, which the case does not name");
    if (wrong[2] > 0)
      throw WrongResult(fmt::format("a computation ended {:.3g} s before the {:.3g} s of the case",
                                    wrong[2], claims_.compute_seconds));
    // Every rank has made the same calls, with the same message.
    const auto bytes =
        static_cast<double>(done.elements) * static_cast<double>(size_of(problem_.shape().type));
    const double ranks = ranks_.size();
    return {{"algbw", bytes},
            {"busbw", bytes * 2 * (ranks - 1) / ranks},
            {"deepbench_bw", bytes * ranks}};
  }

 private:
  void bind(std::span<Tensor* const> tensors) override {
    const Call all = bound_call(problem_, ranks_.rank(), tensors);
    prepared_ = prepared_ && same_buffers(all, all_);
    all_ = all;
    calls_ = make_calls(all_, replay_.counts);
  }

  void execute(Stream& stream) override {
    // prepare() is collective. In the first run after a bind, every rank has allocated its buffers.
    if (!prepared_)
      for (const Call& call : calls_) ranks_.prepare(call);
    prepared_ = true;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      compute_until(start, interval_ * static_cast<double>(i + 1), i);
      if (started_)
        requests_[i] = ranks_.start(calls_[i], stream);
      else
        ranks_.run(calls_[i], stream);
    }
    shortest_ = std::min(shortest_, seconds_since(start));
    ++runs_;
    for (Request& request : requests_) ranks_.wait(request);
  }

  /// Occupies this processor until `seconds` after `start`; polls the first `started` requests.
  void compute_until(Clock::time_point start, double seconds, std::size_t started) {
    while (seconds_since(start) < seconds) {
      if (!replay_.polled) continue;
      for (Request& request : std::span(requests_).first(started)) ranks_.done(request);
    }
  }

  Execution describe() const override {
    Execution ran = make_executed(settings_, ranks_, all_);
    ran.storage = name(problem_.shape().type);
    ran.numbers["tensors"] = static_cast<double>(replay_.counts.size());
    ran.numbers["compute_s"] = replay_.compute_seconds;
    if (replay_.polled) ran.implementation += ", polled meanwhile";
    return ran;
  }

  CollectiveProblem problem_;
  ReplaySettings replay_;
  ReplayClaims claims_;
  CountedCalls ranks_;
  CollectiveSettings settings_;
  bool started_, prepared_ = false;
  double interval_;
  Call all_;
  std::vector<Call> calls_;
  std::vector<Request> requests_;
  std::int64_t runs_ = 0;  ///< since take_done()
  /// Since take_done(): least seconds of a run until its last tensor was ready.
  double shortest_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::string why_not_replay(const CollectiveProblem& problem, const ReplaySettings& replay,
                           const Communicator& ranks) {
  for (const Call& call : make_calls(unbound_call(problem, ranks.rank()), replay.counts))
    if (std::string reason = ranks.why_not(call); !reason.empty()) return reason;
  return "";
}

std::unique_ptr<Workload> replay_workload(const CollectiveProblem& problem, ReplaySettings replay,
                                          const ReplayClaims& claims,
                                          std::unique_ptr<Communicator> ranks,
                                          const CollectiveSettings& settings, Device& device,
                                          double create_seconds, const OperationSetup& setup) {
  expect_allreduce(problem, replay);
  return std::make_unique<ReplayWorkload>(problem, std::move(replay), claims, std::move(ranks),
                                          settings, device, create_seconds, setup);
}

}  // namespace assay
