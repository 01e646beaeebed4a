#include "comm/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "core/base/clock.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/verified_workload.hpp"

namespace assay {
namespace {

constexpr int bisection_tag = 19;
constexpr std::size_t most_times = 4096;  // of a round that are kept

class BisectionWorkload final : public VerifiedWorkload {
 public:
  BisectionWorkload(const CollectiveProblem& problem, std::unique_ptr<Communicator> ranks,
                    const CollectiveSettings& settings, Device& device,
                    std::unique_ptr<Oracle> oracle, double create_seconds,
                    const OperationSetup& setup)
      : VerifiedWorkload(device, collective_tensors(problem, *ranks, settings), std::move(oracle),
                         problem.amounts(), create_seconds, setup),
        problem_(problem),
        ranks_(std::move(ranks)),
        settings_(settings),
        partners_(make_pairings(problem.shape().ranks, problem.shape().rounds)),
        times_(2 * partners_.size()) {
    for (std::vector<double>& times : times_) times.reserve(most_times);
    bind_first();
  }

  std::map<std::string, Metric> metrics() const override {
    const std::vector<PairTime> pairs = pair_times();
    const double worst = std::ranges::max(pairs, {}, &PairTime::seconds).seconds;
    const LinkFindings findings = judge_links(pairs, ranks_->allgather(ranks_->host()));
    std::map<std::string, Metric> metrics{{"worst_permutation_s", {worst, "s", "lower"}}};
    if (findings.judged)
      metrics["slow_links"] = {static_cast<double>(findings.slow.size()), "", "lower"};
    if (findings.typical > 0) {
      metrics["typical_pair_s"] = {findings.typical, "s", "lower"};
      metrics["slowest_pair_s"] = {findings.slowest.seconds, "s", "lower"};
      metrics["slowest_rank"] = {static_cast<double>(findings.slowest.a), "", ""};
      metrics["slowest_partner"] = {static_cast<double>(findings.slowest.b), "", ""};
    }
    for (const LinkFindings::Slow& link : findings.slow)
      metrics["slow_link_" + link.name] = {link.ratio, "", "lower"};
    return metrics;
  }

 private:
  /// For each pair, the median time of its slower message on its slower rank. Collective.
  std::vector<PairTime> pair_times() const {
    std::vector<double> mine;
    for (std::size_t i = 0; i < times_.size(); i += 2)
      mine.push_back(std::max(median(times_[i]), median(times_[i + 1])));
    return assay::pair_times(partners_, mine, ranks_->rank(), *ranks_);
  }

  void bind(std::span<Tensor* const> tensors) override {
    const auto elements = problem_.elements();
    send_ = {tensors[0]->data(), elements, problem_.shape().type};
    receive_ = {tensors[1]->data(), elements * std::ssize(partners_), problem_.shape().type};
  }

  /// A message begins when all ranks have ended the previous one, so a slow pair does not affect
  /// the times of other pairs. The two directions do not overlap: some libraries request a long
  /// message only after they have sent their own, so only pairs whose ranks leave the barrier
  /// together would send both at once.
  void execute(Stream& stream) override {
    for (std::size_t round = 0; round < partners_.size(); ++round) {
      const int self = ranks_->rank(), partner = partners_[round][static_cast<std::size_t>(self)];
      const Buffer into =
          receive_.part(static_cast<std::int64_t>(round) * send_.count, send_.count);
      for (const bool there : {true, false}) {
        ranks_->barrier();
        const auto start = std::chrono::steady_clock::now();
        Request message = (self < partner) == there
                              ? ranks_->send(send_, partner, bisection_tag, stream)
                              : ranks_->receive(into, partner, bisection_tag, stream);
        ranks_->wait(message);
        std::vector<double>& times = times_[2 * round + (there ? 0 : 1)];
        // The first run connects the ranks.
        if (runs_ > 0 && times.size() < most_times) times.push_back(seconds_since(start));
      }
    }
    ++runs_;
  }

  Execution describe() const override {
    Execution ran;
    ran.algorithm = settings_.algorithm;
    ran.implementation =
        fmt::format("{}: {} permutations, of a message there and one back, each after a barrier",
                    settings_.transport, partners_.size());
    if (const std::string tuning = ranks_->tuning_settings(); !tuning.empty())
      ran.implementation += ", " + tuning;
    ran.storage = name(problem_.shape().type);
    return ran;
  }

  CollectiveProblem problem_;
  std::unique_ptr<Communicator> ranks_;
  CollectiveSettings settings_;
  std::vector<std::vector<int>> partners_;  ///< [round][rank]
  std::vector<std::vector<double>> times_;  ///< of this rank, there and back, by round
  Buffer send_, receive_;
  long runs_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_bisection_workload(const CollectiveProblem& problem,
                                                  std::unique_ptr<Communicator> ranks,
                                                  const CollectiveSettings& settings,
                                                  Device& device, std::unique_ptr<Oracle> oracle,
                                                  double create_seconds,
                                                  const OperationSetup& setup) {
  return std::make_unique<BisectionWorkload>(problem, std::move(ranks), settings, device,
                                             std::move(oracle), create_seconds, setup);
}

}  // namespace assay
