#include "comm/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

#include "core/api/random.hpp"
#include "core/base/clock.hpp"
#include "core/base/numbers.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/measure/verified_workload.hpp"

namespace assay {
namespace {

constexpr int bisection_tag = 19, most_rounds_by_default = 15;
constexpr std::size_t most_times = 4096;  // of a round that are kept
constexpr std::size_t least_ends = 4;     // with fewer ones a slow pair is as typical as the others

}  // namespace

int default_rounds(int ranks) { return std::clamp(ranks - 1, 1, most_rounds_by_default); }

std::vector<std::vector<int>> pairings(int ranks, int rounds) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> at(count);  // the rank at each place
  shuffle(at, 1);
  const std::size_t others = count - 1;  // places of the circle; the last one is outside
  std::vector<std::vector<int>> all(static_cast<std::size_t>(rounds), std::vector<int>(count));
  for (std::size_t round = 0; round < all.size(); ++round)
    for (std::size_t place = 0; place < count; ++place) {
      const std::size_t opposite =
          place == others ? round % others : (2 * round + 2 * others - place) % others;
      all[round][at[place]] = static_cast<int>(at[opposite == place ? others : opposite]);
    }
  return all;
}

LinkFindings links_of(const std::vector<PairTime>& pairs, const std::vector<std::string>& hosts) {
  const bool several = std::set<std::string>(hosts.begin(), hosts.end()).size() > 1;
  const auto name = [&](int rank) {
    return several ? hosts[static_cast<std::size_t>(rank)] : fmt::format("rank{}", rank);
  };
  std::vector<PairTime> judged;
  for (const PairTime& pair : pairs)
    if (!several || name(pair.a) != name(pair.b)) judged.push_back(pair);
  LinkFindings found;
  if (judged.empty()) return found;
  std::ranges::sort(judged, {}, &PairTime::seconds);
  found.slowest = judged.back();
  std::map<std::string, std::vector<double>> of_end;  // times of the pairs of a host
  for (const PairTime& pair : judged)
    for (const int rank : {pair.a, pair.b}) of_end[name(rank)].push_back(pair.seconds);
  std::size_t most = 0;
  for (const auto& [end, times] : of_end) most = std::max(most, times.size());
  found.judged = of_end.size() >= least_ends;
  const std::size_t left = judged.size() > most ? judged.size() - most : 1;
  found.typical = judged[(left - 1) / 2].seconds;

  if (!found.judged) return found;
  const auto is_slow = [&](double seconds) { return seconds >= slow_from * found.typical; };
  // A host all of whose pairs are slow is slow itself, if its partners are not so with others.
  std::set<std::string> slow_ends;
  std::map<std::string, double> slow;  // several pairs of ranks may have the same hosts
  for (const auto& [end, times] : of_end)
    if (times.size() > 1 && is_slow(times.front())) {
      slow_ends.insert(end);
      slow[end] = times.front() / found.typical;
    }
  for (const PairTime& pair : judged)
    if (is_slow(pair.seconds) && !slow_ends.contains(name(pair.a)) &&
        !slow_ends.contains(name(pair.b)))
      slow[std::min(name(pair.a), name(pair.b)) + "+" + std::max(name(pair.a), name(pair.b))] =
          pair.seconds / found.typical;
  for (const auto& [link, ratio] : slow) found.slow.push_back({link, ratio});
  return found;
}

namespace {

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
        partners_(pairings(problem.shape().ranks, problem.shape().rounds)),
        times_(2 * partners_.size()) {
    for (std::vector<double>& times : times_) times.reserve(most_times);
    bind_first();
  }

  std::map<std::string, Metric> metrics() const override {
    const std::vector<PairTime> pairs = pair_times();
    const double worst = std::ranges::max(pairs, {}, &PairTime::seconds).seconds;
    const LinkFindings found = links_of(pairs, ranks_->allgather(ranks_->host()));
    std::map<std::string, Metric> metrics{{"worst_permutation_s", {worst, "s", "lower"}}};
    if (found.judged) metrics["slow_links"] = {static_cast<double>(found.slow.size()), "", "lower"};
    if (found.typical > 0) {
      metrics["typical_pair_s"] = {found.typical, "s", "lower"};
      metrics["slowest_pair_s"] = {found.slowest.seconds, "s", "lower"};
      metrics["slowest_rank"] = {static_cast<double>(found.slowest.a), "", ""};
      metrics["slowest_partner"] = {static_cast<double>(found.slowest.b), "", ""};
    }
    for (const LinkFindings::Slow& link : found.slow)
      metrics["slow_link_" + link.name] = {link.ratio, "", "lower"};
    return metrics;
  }

 private:
  /// The median times of all pairs, each of its slower message by the slower of its ranks.
  /// Collective.
  std::vector<PairTime> pair_times() const {
    std::vector<double> mine;
    for (std::size_t i = 0; i < times_.size(); i += 2)
      mine.push_back(std::max(median(times_[i]), median(times_[i + 1])));
    std::vector<std::vector<double>> of_rank;
    for (const std::string& text : ranks_->allgather(fmt::format("{}", fmt::join(mine, " ")))) {
      of_rank.emplace_back();
      for (const std::string& word : split(text, ' '))
        of_rank.back().push_back(parse_number<double>(word).value());
    }
    std::vector<PairTime> pairs;
    for (std::size_t round = 0; round < partners_.size(); ++round)
      for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
        if (const auto partner = static_cast<std::size_t>(partners_[round][rank]); rank < partner)
          pairs.push_back({static_cast<int>(rank), static_cast<int>(partner),
                           std::max(of_rank[rank][round], of_rank[partner][round])});
    return pairs;
  }

  void bind(std::span<Tensor* const> tensors) override {
    const auto elements = problem_.elements();
    send_ = {tensors[0]->data(), elements, problem_.shape().type};
    receive_ = {tensors[1]->data(), elements * std::ssize(partners_), problem_.shape().type};
  }

  /// A message begins when all ranks have ended the one before: a slow pair delays nobody's clock.
  /// Both at once would be one after the other for pairs whose ranks leave the barrier apart, where
  /// a library asks for the data of a long message behind its own data.
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

  Executed describe() const override {
    Executed ran;
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

std::unique_ptr<Workload> bisection_workload(const CollectiveProblem& problem,
                                             std::unique_ptr<Communicator> ranks,
                                             const CollectiveSettings& settings, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup) {
  return std::make_unique<BisectionWorkload>(problem, std::move(ranks), settings, device,
                                             std::move(oracle), create_seconds, setup);
}

}  // namespace assay
