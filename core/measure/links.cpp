#include "core/measure/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/api/host_device.hpp"
#include "core/api/random.hpp"
#include "core/base/clock.hpp"
#include "core/base/statistics.hpp"

namespace assay {
namespace {

constexpr int most_rounds_by_default = 15;

constexpr int link_tag = 19;
constexpr double shortest_message = 0.02;
constexpr std::int64_t first_bytes = 64 << 10, most_bytes = 16 << 20;
constexpr int messages_of_pair = 5;  ///< each way

/// Messages between the ranks of a communicator, in pairs.
class PairMessages {
 public:
  PairMessages(Communicator& ranks, std::vector<std::vector<int>> partners)
      : ranks_(ranks), partners_(std::move(partners)), memory_(first_bytes) {}

  std::int64_t bytes() const { return std::ssize(memory_); }

  /// Makes the messages longer until they take long enough.
  void grow() {
    exchange(0);  // connects the ranks
    for (;;) {
      double seconds = exchange(0);
      ranks_.allreduce_max(std::span(&seconds, 1));
      if (seconds >= shortest_message || bytes() >= most_bytes) return;
      memory_.resize(2 * memory_.size());
    }
  }

  /// The median of each round.
  std::vector<double> times() {
    std::vector<double> mine;
    for (std::size_t round = 0; round < partners_.size(); ++round) {
      exchange(round);
      std::vector<double> seconds;
      for (int i = 0; i < messages_of_pair; ++i) seconds.push_back(exchange(round));
      mine.push_back(median(seconds));
    }
    return mine;
  }

 private:
  /// The slower of a message there and a message back. All ranks begin each of them together.
  double exchange(std::size_t round) {
    const int self = ranks_.rank(), partner = partners_[round][static_cast<std::size_t>(self)];
    const Buffer all{memory_.data(), bytes(), DataType::u8};
    double slower = 0;
    for (const bool there : {true, false}) {
      ranks_.barrier();
      if (partner >= ranks_.size()) continue;  // an odd number: this rank has no partner
      const auto start = std::chrono::steady_clock::now();
      Request message = (self < partner) == there ? ranks_.send(all, partner, link_tag, stream_)
                                                  : ranks_.receive(all, partner, link_tag, stream_);
      ranks_.wait(message);
      slower = std::max(slower, seconds_since(start));
    }
    return slower;
  }

  Communicator& ranks_;
  std::vector<std::vector<int>> partners_;
  std::vector<std::byte> memory_;
  HostStream stream_;
};

}  // namespace

int choose_default_rounds(int ranks) { return std::clamp(ranks - 1, 1, most_rounds_by_default); }

std::vector<std::vector<int>> make_pairings(int ranks, int rounds) {
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

LinkFindings judge_links(const std::vector<PairTime>& pairs,
                         const std::vector<std::string>& hosts) {
  const bool several = std::set<std::string>(hosts.begin(), hosts.end()).size() > 1;
  const auto name = [&](int rank) {
    return several ? hosts[static_cast<std::size_t>(rank)] : fmt::format("rank{}", rank);
  };
  std::vector<PairTime> judged;
  for (const PairTime& pair : pairs)
    if (!several || name(pair.a) != name(pair.b)) judged.push_back(pair);
  LinkFindings findings;
  if (judged.empty()) return findings;
  std::ranges::sort(judged, {}, &PairTime::seconds);
  findings.slowest = judged.back();
  std::map<std::string, std::vector<double>> of_end;  // times of the pairs of a host
  for (const PairTime& pair : judged)
    for (const int rank : {pair.a, pair.b}) of_end[name(rank)].push_back(pair.seconds);
  std::size_t most = 0;
  for (const auto& [end, times] : of_end) most = std::max(most, times.size());
  findings.judged = of_end.size() >= least_ends;
  const std::size_t left = judged.size() > most ? judged.size() - most : 1;
  findings.typical = judged[(left - 1) / 2].seconds;

  if (!findings.judged) return findings;
  const auto is_slow = [&](double seconds) { return seconds >= slow_from * findings.typical; };
  // If all pairs of a host are slow, the host itself counts as slow, and its pairs are not listed.
  std::set<std::string> slow_ends;
  std::map<std::string, double> slow;  // several pairs of ranks may have the same hosts
  for (const auto& [end, times] : of_end)
    if (times.size() > 1 && is_slow(times.front())) {
      slow_ends.insert(end);
      slow[end] = times.front() / findings.typical;
    }
  for (const PairTime& pair : judged)
    if (is_slow(pair.seconds) && !slow_ends.contains(name(pair.a)) &&
        !slow_ends.contains(name(pair.b)))
      slow[std::min(name(pair.a), name(pair.b)) + "+" + std::max(name(pair.a), name(pair.b))] =
          pair.seconds / findings.typical;
  for (const auto& [link, ratio] : slow) findings.slow.push_back({link, ratio});
  return findings;
}

std::vector<PairTime> pair_times(const std::vector<std::vector<int>>& partners,
                                 const std::vector<double>& mine, int self, Communicator& ranks) {
  const std::size_t ends = partners.front().size();
  std::vector<double> slower(partners.size() * ends, -1);  // by round and the first of the pair
  for (std::size_t round = 0; round < mine.size(); ++round) {
    const int partner = partners[round][static_cast<std::size_t>(self)];
    slower[round * ends + static_cast<std::size_t>(std::min(self, partner))] = mine[round];
  }
  ranks.allreduce_max(slower);
  std::vector<PairTime> pairs;
  for (std::size_t i = 0; i < slower.size(); ++i)
    if (slower[i] >= 0)
      pairs.push_back({static_cast<int>(i % ends), partners[i / ends][i % ends], slower[i]});
  return pairs;
}

std::optional<MeasuredLinks> measure_links(Communicator& ranks, Communicator& messages) {
  const std::vector<std::string> all = ranks.allgather(ranks.host());
  std::vector<std::string> hosts;
  bool first = false;  // this rank is the first of its host
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (std::ranges::find(hosts, all[rank]) != hosts.end()) continue;
    hosts.push_back(all[rank]);
    first = first || static_cast<int>(rank) == ranks.rank();
  }
  if (hosts.size() < least_ends) return std::nullopt;
  const std::unique_ptr<Communicator> part = messages.split(first ? 1 : 0, ranks.rank());
  const int even = static_cast<int>(hosts.size() + hosts.size() % 2);
  const std::vector<std::vector<int>> partners = make_pairings(even, choose_default_rounds(even));
  MeasuredLinks measured;
  std::vector<double> mine;
  if (first) {
    PairMessages pairs(*part, partners);
    pairs.grow();
    measured.bytes = pairs.bytes();
    mine = pairs.times();
  }
  std::vector<PairTime> pairs = pair_times(partners, mine, part->rank(), ranks);
  if (even > std::ssize(hosts))  // the last place is empty
    std::erase_if(pairs, [&](const PairTime& pair) { return pair.b >= even - 1; });
  auto bytes = static_cast<double>(measured.bytes);
  ranks.allreduce_max(std::span(&bytes, 1));
  measured.bytes = static_cast<std::int64_t>(bytes);
  measured.findings = judge_links(pairs, hosts);
  return measured;
}

}  // namespace assay
