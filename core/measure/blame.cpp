#include "core/measure/blame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/base/statistics.hpp"

namespace assay {
namespace {

// Blocks of fewer events may depend on each other. Above this number of blocks, Student's
// distribution hardly narrows.
constexpr std::size_t events_of_block = 8, most_of_few = 20, most_blocks = 40;
constexpr double false_blame = 0.01;  ///< of the intervals of all ranks together
/// The part of a difference that its cause must explain.
constexpr double explained = 0.5;

/// For each rank, the median of the other ranks.
std::vector<double> medians_of_others(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> medians;
  for (const double own : values) {
    const auto place =
        static_cast<std::size_t>(std::ranges::lower_bound(sorted, own) - sorted.begin());
    const auto other = [&](std::size_t i) { return sorted[i < place ? i : i + 1]; };
    const std::size_t others = sorted.size() - 1;
    medians.push_back((other((others - 1) / 2) + other(others / 2)) / 2);
  }
  return medians;
}

/// A number of a rank minus the median of the other ranks.
template <class Number>
double excess(const Blame& blame, std::size_t rank, const Number& number) {
  std::vector<double> others;
  for (std::size_t i = 0; i < blame.ranks.size(); ++i)
    if (i != rank) others.push_back(number(blame.ranks[i]));
  return number(blame.ranks[rank]) - median(others);
}

/// True if several threads of a rank work: while one is stopped, the others may spin and wait for
/// it.
bool has_threads(const Blame::Rank& rank) {
  constexpr double of_one = 1.05;  // a library's thread may work beside it at times
  return rank.processor_s > of_one * (rank.input_s + rank.compute_s + rank.network_s);
}

/// Why a rank computed for `more` seconds more than the others.
std::string describe_computation(const Blame& blame, std::size_t rank, double more) {
  const bool known = std::ranges::all_of(
      blame.ranks, [](const Blame::Rank& other) { return other.ready_s.has_value(); });
  if (known &&
      excess(blame, rank, [](const auto& other) { return *other.ready_s; }) >= explained * more)
    return "it waited for a processor that others used";
  if (!blame.on_host) return "it or its device was slower";
  if (excess(blame, rank, [](const auto& other) { return other.processor_s; }) >= explained * more)
    return has_threads(blame.ranks[rank]) ? "it computed longer, or a thread of it did not run"
                                          : "it computed longer";
  return known ? "it did not run" : "it did not run, or waited for a processor";
}

Blame::Culprit find_culprit(const Blame& blame, std::size_t index) {
  const Blame::Rank& rank = blame.ranks[index];
  Blame::Culprit blamed{rank.rank, rank.host, rank.place};
  blamed.cost_s = rank.cost_s;
  blamed.cost = rank.cost_s / blame.seconds;
  const double input = excess(blame, index, [](const auto& other) { return other.input_s; });
  const double compute = excess(blame, index, [](const auto& other) { return other.compute_s; });
  if (input > compute) {
    blamed.did = "input";
    blamed.how = "its data came later";
    return blamed;
  }
  blamed.did = "compute";
  // A rank that arrived late without longer work began late: it did not run.
  blamed.how = describe_computation(blame, index, std::max(compute, rank.cost_s));
  return blamed;
}

/// True if the link (a path between two hosts, or all paths of one) belongs to the host.
bool has_host(const std::string& link, const std::string& host) {
  const std::size_t plus = link.find('+');
  return plus == link.npos ? link == host
                           : link.substr(0, plus) == host || link.substr(plus + 1) == host;
}

void blame_links(Blame& blame) {
  if (!blame.links || !blame.links->unsupported.empty() ||
      blame.network_s < least_network * blame.seconds)
    return;
  for (const Blame::Link& slow : blame.links->slow) {
    Blame::Culprit blamed_link{std::nullopt, slow.link, "link", "network"};
    blamed_link.how = fmt::format("its messages take {:.1f} times as long as others'", slow.ratio);
    blamed_link.cost_s = link_cost(blame, slow) * blame.seconds;
    blamed_link.cost = blamed_link.cost_s / blame.seconds;
    const bool late = std::ranges::any_of(blame.blamed, [&](const Blame::Culprit& rank) {
      return rank.rank && has_host(slow.link, rank.host) && rank.cost_s >= blamed_link.cost_s;
    });
    if (!late && blamed_link.cost >= least_blame) blame.blamed.push_back(blamed_link);
  }
}

}  // namespace

std::vector<double> divide_waits(std::span<const double> arrivals) {
  const std::size_t ranks = arrivals.size();
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return arrivals[rank]; });
  std::vector<double> waits(ranks, 0);
  double shared = 0;
  for (std::size_t i = (ranks - 1) / 2 + 1; i < ranks; ++i) {
    shared += (arrivals[order[i]] - arrivals[order[i - 1]]) / static_cast<double>(ranks - i);
    waits[order[i]] = shared;
  }
  return waits;
}

void set_costs(const EventTimes& times, std::span<const double> errors, Blame& blame) {
  const std::size_t ranks = blame.ranks.size(), events = times.arrivals.size() / ranks;
  const std::size_t blocks =
      std::min(events, std::clamp(events / events_of_block, most_of_few, most_blocks));
  std::vector<std::vector<double>> of_block(blocks, std::vector<double>(ranks, 0));
  const double worst = *std::ranges::max_element(errors);
  for (std::size_t event = 0; event < events; ++event) {
    const auto at = times.arrivals.subspan(event * ranks, ranks);
    const std::vector<double> late = divide_waits(at),
                              longer = divide_waits(times.works.subspan(event * ranks, ranks));
    std::vector<double>& sums = of_block[event * blocks / events];
    for (std::size_t rank = 0; rank < ranks; ++rank)
      sums[rank] += std::min(late[rank], longer[rank]);
    const auto last = static_cast<std::size_t>(std::ranges::max_element(at) - at.begin());
    bool certain = true;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      certain = certain && (rank == last || at[last] - at[rank] > errors[last] + errors[rank]);
    if (certain) ++blame.ranks[last].last;
  }
  std::vector<std::vector<double>> costs(ranks);  // of each block
  for (const std::vector<double>& sums : of_block) {
    const std::vector<double> others = medians_of_others(sums);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      costs[rank].push_back(sums[rank] - others[rank]);
  }
  if (blocks < 2) return;
  const auto count = static_cast<double>(blocks);
  const double t = boost::math::quantile(boost::math::complement(
      boost::math::students_t(count - 1), false_blame / 2 / static_cast<double>(ranks)));
  for (std::size_t i = 0; i < ranks; ++i) {
    Blame::Rank& rank = blame.ranks[i];
    rank.cost_s = std::accumulate(costs[i].begin(), costs[i].end(), 0.0);
    double squares = 0;
    for (const double cost : costs[i]) squares += std::pow(cost - rank.cost_s / count, 2);
    const double half = t * std::sqrt(count * squares / (count - 1)) +
                        static_cast<double>(events) * (errors[i] + worst);
    rank.low_s = rank.cost_s - half;
    rank.high_s = rank.cost_s + half;
  }
}

double link_cost(const Blame& blame, const Blame::Link& link) {
  return blame.seconds > 0 ? blame.network_s * (1 - 1 / link.ratio) / blame.seconds : 0;
}

std::optional<double> count_runs_to_decide(const Blame& blame) {
  if (!(blame.seconds > 0)) return std::nullopt;
  const double clocks = 2 * blame.events * blame.clock_error_s / blame.seconds;
  if (clocks >= least_blame) return std::nullopt;
  const double wider = std::max(0.0, blame.resolution - clocks) / (least_blame - clocks);
  return std::ceil(blame.runs * std::max(1.0, wider * wider));
}

Result<LargestCost> find_largest_cost(const Blame& blame) {
  if (!blame.unsupported.empty()) return Unsupported{blame.unsupported};
  if (blame.events < static_cast<double>(least_events) || !(blame.seconds > 0))
    return Unsupported{blame.undecided.empty() ? "it has no seconds" : blame.undecided};
  const bool several = std::ranges::any_of(
      blame.ranks, [&](const Blame::Rank& rank) { return rank.host != blame.ranks[0].host; });
  const bool by_links = several && blame.network_s >= least_network * blame.seconds;
  if (by_links && (!blame.links || !blame.links->unsupported.empty()))
    return Unsupported{
        fmt::format("{:.1f} % of the time is in the network, but its links were not measured{}",
                    100 * blame.network_s / blame.seconds,
                    blame.links ? fmt::format(" ({})", blame.links->unsupported) : "")};
  LargestCost largest{-1, -1};
  const auto add = [&](double least, double most, const std::string& who) {
    largest.least = std::max(largest.least, least);
    if (most <= largest.most) return;
    largest.most = most;
    largest.who = who;
  };
  for (const Blame::Rank& rank : blame.ranks)
    add(rank.low_s / blame.seconds, rank.high_s / blame.seconds,
        fmt::format("rank {} ({}) on {}", rank.rank, rank.place, rank.host));
  if (by_links)
    for (const Blame::Link& slow : blame.links->slow)
      add(link_cost(blame, slow), link_cost(blame, slow), "the link " + slow.link);
  return largest;
}

bool others_waited(const Blame& blame, const Blame::Rank& rank) {
  double waited = 0;
  for (const Blame::Rank& other : blame.ranks)
    if (other.rank != rank.rank) waited += other.wait_s + other.network_s;
  return rank.cost_s <= waited * (1 + clocks_differ) + 2 * blame.events * blame.clock_error_s;
}

void judge(Blame& blame) {
  blame.blamed.clear();
  blame.undecided.clear();
  blame.resolution = 0;
  if (!blame.unsupported.empty()) return;
  for (std::size_t i = 0; i < blame.ranks.size(); ++i) {
    const Blame::Rank& rank = blame.ranks[i];
    if (blame.seconds > 0)
      blame.resolution = std::max(blame.resolution, (rank.high_s - rank.low_s) / 2 / blame.seconds);
    if (rank.low_s > 0 && rank.cost_s >= least_blame * blame.seconds)
      blame.blamed.push_back(find_culprit(blame, i));
  }
  if (blame.events < static_cast<double>(least_events)) {
    blame.blamed.clear();
    blame.undecided =
        fmt::format("{:.0f} collectives are too few (at least {})", blame.events, least_events);
  } else if (blame.blamed.empty() && blame.resolution > least_blame) {
    const std::optional<double> needed = count_runs_to_decide(blame);
    blame.undecided = fmt::format(
        "chance and clocks explain up to {:.1f} % of the time ({})", 100 * blame.resolution,
        needed ? fmt::format("{:.0f} runs; about {:.0f} decide it", blame.runs, *needed)
               : "more runs do not help: the clocks differ by too much");
  }
  blame_links(blame);
  std::ranges::stable_sort(blame.blamed, std::ranges::greater(), &Blame::Culprit::cost_s);
}

}  // namespace assay
