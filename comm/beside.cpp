#include "comm/beside.hpp"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/verified_workload.hpp"

namespace assay {
namespace {

constexpr int stop_tag = 20, first_aggressor = 1;
constexpr std::size_t most_latencies = 100000;

bool is_victim(int rank) { return rank % 2 == 0; }

/// The call of this rank's half.
CollectiveProblem own_problem(const CollectiveProblem& problem, int rank, int ranks) {
  CollectiveShape shape = problem.shape();
  shape.ranks = is_victim(rank) ? (ranks + 1) / 2 : ranks / 2;
  if (is_victim(rank)) {
    shape.beside = 0;
    return CollectiveProblem(shape);
  }
  CollectiveShape aggressor;
  aggressor.pattern = Pattern::alltoall;
  aggressor.type = shape.type;
  aggressor.ranks = shape.ranks;
  const std::int64_t unit = static_cast<std::int64_t>(size_of(shape.type)) * shape.ranks;
  aggressor.bytes = std::max<std::int64_t>(1, shape.beside / unit) * unit;
  return CollectiveProblem(aggressor);
}

std::vector<int> choose_half(int rank, int ranks) {
  std::vector<int> members;
  for (int each = rank % 2; each < ranks; each += 2) members.push_back(each);
  return members;
}

class BesideWorkload final : public VerifiedWorkload {
 public:
  BesideWorkload(const CollectiveProblem& own, std::unique_ptr<Communicator> ranks,
                 const CollectiveSettings& settings, Device& device, double create_seconds,
                 const OperationSetup& setup)
      : VerifiedWorkload(device, own.tensors(ranks->rank() / 2),
                         make_collective_oracle(own, ranks->rank() / 2,
                                                choose_half(ranks->rank(), ranks->size())),
                         {}, create_seconds, setup),
        own_(own),
        ranks_(std::move(ranks)),
        half_(ranks_->split(ranks_->rank() % 2, ranks_->rank())),
        settings_(settings) {
    for (std::vector<double>* latencies : {&alone_, &beside_}) latencies->reserve(most_latencies);
    bind_first();
  }

  std::map<std::string, Metric> metrics() const override {
    std::vector<double> all;
    for (const std::vector<double>* latencies : {&alone_, &beside_}) {
      const bool any = !latencies->empty();
      all.push_back(any ? median(*latencies) : 0);
      all.push_back(any ? quantile(*latencies, 0.99) : 0);
    }
    all.push_back(is_victim(ranks_->rank())
                      ? 0
                      : static_cast<double>(alltoalls_) / static_cast<double>(runs_));
    ranks_->allreduce_max(all);
    return {{"alone_median_s", {all[0], "s", "lower"}},
            {"alone_p99_s", {all[1], "s", "lower"}},
            {"beside_median_s", {all[2], "s", "lower"}},
            {"beside_p99_s", {all[3], "s", "lower"}},
            {"alltoalls_of_a_run", {all[4], "", ""}}};
  }

 private:
  void bind(std::span<Tensor* const> tensors) override {
    call_ = bound_call(own_, half_->rank(), tensors);
  }

  void execute(Stream& stream) override {
    if (runs_ == 0) half_->prepare(call_);
    ranks_->barrier();
    if (is_victim(ranks_->rank())) call_often(alone_, stream);
    ranks_->barrier();
    char word = 0;
    const Buffer stop{&word, 1, DataType::u8};
    if (is_victim(ranks_->rank())) {
      call_often(beside_, stream);
      half_->barrier();  // all victims have ended
      if (ranks_->rank() == 0) {
        Request sent = ranks_->send(stop, first_aggressor, stop_tag, stream);
        ranks_->wait(sent);
      }
    } else {
      Request stop_request;
      if (ranks_->rank() == first_aggressor)
        stop_request = ranks_->receive(stop, 0, stop_tag, stream);
      do {
        half_->run(call_, stream);
        ++alltoalls_;
      } while (half_->broadcast(
                   ranks_->rank() == first_aggressor && ranks_->done(stop_request) ? 1 : 0) == 0);
    }
    ranks_->barrier();
    ++runs_;
  }

  void call_often(std::vector<double>& latencies, Stream& stream) {
    for (int call = 0; call < beside_calls; ++call) {
      const auto start = std::chrono::steady_clock::now();
      half_->run(call_, stream);
      // The first run connects the ranks.
      if (runs_ > 0 && latencies.size() < most_latencies) latencies.push_back(seconds_since(start));
    }
  }

  Execution describe() const override {
    Execution ran = make_executed(settings_, *half_, call_);
    ran.implementation += fmt::format(
        "; {} calls of every second rank alone, then beside alltoall of the others", beside_calls);
    ran.storage = name(own_.shape().type);
    return ran;
  }

  CollectiveProblem own_;
  std::unique_ptr<Communicator> ranks_, half_;
  CollectiveSettings settings_;
  Call call_;
  std::vector<double> alone_, beside_;  ///< seconds of calls of this rank
  long alltoalls_ = 0, runs_ = 0;
};

}  // namespace

std::string why_not_beside(const CollectiveProblem& problem, const Communicator& ranks) {
  if (problem.shape().pattern != Pattern::allreduce || problem.shape().in_place ||
      problem.shape().op == ReduceOp::average)
    return "a victim beside others calls allreduce, out of place, not of averages. Use --beside 0.";
  if (ranks.size() < 4)
    return fmt::format("a victim beside others needs two ranks of each ({} were started).",
                       ranks.size());
  return "";
}

std::unique_ptr<Workload> make_beside_workload(const CollectiveProblem& problem,
                                               std::unique_ptr<Communicator> ranks,
                                               const CollectiveSettings& settings, Device& device,
                                               double create_seconds, const OperationSetup& setup) {
  const CollectiveProblem own = own_problem(problem, ranks->rank(), ranks->size());
  return std::make_unique<BesideWorkload>(own, std::move(ranks), settings, device, create_seconds,
                                          setup);
}

}  // namespace assay
