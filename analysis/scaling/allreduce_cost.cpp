#include "analysis/scaling/allreduce_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace assay::scaling {

namespace {

/// The largest divisor of `ranks` up to its square root: the grid nearest to a square, as in
/// comm/algorithms/torus2d_algorithm.cpp.
int torus_rows(int ranks) {
  int rows = 1;
  for (int divisor = 2; divisor * divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) rows = divisor;
  return rows;
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Members of the groups of each level, from the innermost outwards: {4, 544} for 2176 ranks in
/// nodes of 4. Empty if the ranks do not fill whole groups.
std::vector<int> whole_groups(const Network& network, int ranks) {
  std::vector<int> members;
  int inner = 1;
  for (std::size_t level = 0; level < network.levels.size(); ++level) {
    const bool outermost = level + 1 == network.levels.size();
    const int group = outermost ? ranks : std::min(network.levels[level].ranks, ranks);
    if (group % inner != 0) return {};
    members.push_back(group / inner);
    inner = group;
  }
  return members;
}

}  // namespace

const std::vector<AlgorithmCost>& algorithm_costs() {
  static const std::vector<AlgorithmCost> all{
      {"ring", "2(p-1)(alpha + beta m/p)",
       "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations "
       "in MPICH, IJHPCA 19 (2005) 49-66"},
      {"halving_doubling",
       "2 log2(p) alpha + 2 (p-1)/p beta m; when p is not a power of two, 2(alpha + beta m) more",
       "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations "
       "in MPICH, IJHPCA 19 (2005) 49-66 (Rabenseifner's algorithm)"},
      {"hierarchical", "ring of m in the node's g ranks, halving_doubling of m/g among nodes",
       "comm/algorithms/hierarchical_algorithm.cpp; Horovod's hierarchical allreduce is the same "
       "in outline"},
      {"torus2d", "rings of m along the rows, of m/columns along the columns of a near-square grid",
       "H. Mikami et al., ImageNet/ResNet-50 Training in 224 Seconds, arXiv:1811.05233"},
      {"ddl", "a ring at each level, of the part of m that the levels inside it leave",
       "M. Cho et al., PowerAI DDL, arXiv:1708.02188"}};
  return all;
}

void AllreduceCost::add(int times, Data data, std::int64_t parts, const Route& receiver) {
  Round round{times, data, parts};
  if (in_step_) {
    round.links = list_links(network_, ranks_, receiver);
    if (!round.links.empty()) rounds_.push_back(std::move(round));
    return;
  }
  round.receives.resize(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank) {
    const int other = receiver(rank);
    round.receiver.push_back(other == rank ? -1 : other);
    if (round.receiver.back() >= 0) round.receives[static_cast<std::size_t>(other)] = 1;
  }
  rounds_.push_back(std::move(round));
}

// members - 1 rounds of reduce-scatter, and as many of allgather.
void AllreduceCost::add_ring(int stride, int members, std::int64_t parts, Data data, int times) {
  if (members > 1)
    add(times * (members - 1), data, parts * members, [=](int rank) {
      const int place = rank / stride % members;
      return rank + ((place + 1) % members - place) * stride;
    });
}

// In each halving round, a member sends half of its remaining data to its partner; the data come
// back in the doubling round. Members beyond a power of two send all data to a neighbour first, and
// receive all data at the end.
void AllreduceCost::add_halving_doubling(int stride, int members, std::int64_t parts, Data data,
                                         bool first_only) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  const int folded = members - power;
  const auto round = [&](std::int64_t of_parts, const Route& next) {
    add(1, data, of_parts, [=](int rank) {
      if (first_only && rank % stride != 0) return -1;
      const int place = rank / stride % members, other = next(place);
      return other < 0 ? -1 : rank + (other - place) * stride;
    });
  };
  const auto exchange = [&](int distance) {
    round(parts * 2 * distance, [=](int place) {
      if (place < 2 * folded && place % 2 == 0) return -1;
      const int index = place < 2 * folded ? place / 2 : place - folded;
      const int other = index ^ distance;
      return other < folded ? 2 * other + 1 : other + folded;
    });
  };
  round(parts, [=](int place) { return place < 2 * folded && place % 2 == 0 ? place + 1 : -1; });
  for (int distance = 1; distance < power; distance *= 2) exchange(distance);
  for (int distance = power / 2; distance >= 1; distance /= 2) exchange(distance);
  round(parts, [=](int place) { return place < 2 * folded && place % 2 != 0 ? place - 1 : -1; });
}

// Binomial: a reduction to the first member (up), and a broadcast back along the same edges.
void AllreduceCost::add_tree(int members, bool up) {
  const int last = static_cast<int>(std::bit_ceil(static_cast<unsigned>(members)));
  for (int i = 1; i < last; i *= 2) {
    const int distance = up ? i : last / (2 * i);
    add(1, Data::rest, 1, [=](int rank) {
      const int place = rank % members;
      if (up) return (place & -place) == distance ? rank - distance : -1;
      const bool has = place % (2 * distance) == 0 && place + distance < members;
      return has ? rank + distance : -1;
    });
  }
}

void AllreduceCost::add_hierarchical(int node) {
  node_ = node;
  in_step_ = false;
  add_ring(1, node, 1, Data::even, 1);
  add_halving_doubling(node, ranks_ / node, node, Data::even, false);
  add_ring(1, node, 1, Data::even, 1);
  if (node == 1) return;
  add_tree(node, true);
  add_halving_doubling(node, ranks_ / node, 1, Data::rest, true);
  add_tree(node, false);
}

// If rows split nodes, some nodes send more than others, and their rows fall behind.
void AllreduceCost::add_torus(int rows) {
  const int columns = ranks_ / rows;
  const std::vector<Level>& levels = network_.levels;
  const bool split = std::any_of(levels.begin(), levels.end() - 1, [&](const Level& level) {
    return level.ranks < ranks_ && columns % level.ranks != 0 && level.ranks % columns != 0;
  });
  in_step_ = !split;
  add_ring(1, columns, 1, Data::all, 1);
  add_ring(columns, rows, columns, Data::all, 2);
  add_ring(1, columns, 1, Data::all, 1);
}

void AllreduceCost::add_ddl(const std::vector<int>& members) {
  int inner = 1;
  for (const int group : members) {
    add_ring(inner, group, inner, Data::all, 2);
    inner *= group;
  }
}

Result<AllreduceCost> AllreduceCost::make(const std::string& algorithm, int ranks,
                                          const Network& network) {
  AllreduceCost cost(ranks, network);
  const std::vector<int> members = whole_groups(network, ranks);
  const auto uneven = [&] {
    return Unsupported{
        fmt::format("{} ranks do not fill groups of {}", ranks, network.levels.front().ranks)};
  };
  if (algorithm == "ring") {
    cost.add_ring(1, ranks, 1, Data::all, 2);
  } else if (algorithm == "halving_doubling") {
    cost.in_step_ = false;
    cost.add_halving_doubling(1, ranks, 1, Data::all, false);
  } else if (algorithm == "hierarchical") {
    if (members.empty()) return uneven();
    cost.add_hierarchical(network.levels.size() == 1 ? 1 : members.front());
  } else if (algorithm == "torus2d") {
    const int rows = torus_rows(ranks);
    if (ranks > 1 && rows == 1)
      return Unsupported{fmt::format("{} ranks do not form a grid of at least 2 x 2", ranks)};
    cost.add_torus(rows);
  } else if (algorithm == "ddl") {
    if (members.empty()) return uneven();
    cost.add_ddl(members);
  } else {
    throw std::logic_error("no cost of the algorithm " + algorithm);
  }
  return cost;
}

AllreduceCost::Size AllreduceCost::size_of_part(const Round& round, std::int64_t elements,
                                                std::size_t element_bytes) const {
  const std::int64_t rest = elements % node_;
  const std::int64_t divided = round.data == Data::all    ? elements
                               : round.data == Data::even ? elements - rest
                                                          : rest;
  const std::int64_t bytes =
      divide_up(divided, round.parts) * static_cast<std::int64_t>(element_bytes);
  if (bytes == 0) return {};
  return {static_cast<double>(network_.segment_bytes > 0 ? divide_up(bytes, network_.segment_bytes)
                                                         : 1),
          static_cast<double>(bytes)};
}

double AllreduceCost::simulated_messages() const {
  double messages = 0;
  if (!in_step_)
    for (const Round& round : rounds_) messages += static_cast<double>(round.times) * ranks_;
  return messages;
}

// All ranks send at once, so the slowest link determines the time of a round.
double AllreduceCost::in_step(std::int64_t elements, std::size_t element_bytes) const {
  double sum = 0, first = 0;
  for (const Round& round : rounds_) {
    const Size size = size_of_part(round, elements, element_bytes);
    double slowest = 0, together = 0;
    for (const Link& link : round.links) {
      const double latency = size.messages * link.alpha, own = link.beta * size.bytes;
      slowest = std::max({slowest, latency + own, link.shared * size.bytes});
      together = std::max(together, latency + std::max(own, link.shared * size.bytes));
    }
    sum += round.times * slowest;
    // Ranks that begin together queue at a port only once; afterwards they reach it one after the
    // other.
    first = std::max(first, together - slowest);
  }
  return sum + first;
}

std::vector<double> AllreduceCost::ends(const std::vector<PendingSum>& sums,
                                        std::size_t element_bytes) const {
  if (!in_step_ && !rounds_.empty()) return simulate(sums, element_bytes);
  std::vector<double> ends;
  double end = 0;
  for (const PendingSum& bucket : sums)
    ends.push_back(end = std::max(end, bucket.ready) + in_step(bucket.elements, element_bytes));
  return ends;
}

}  // namespace assay::scaling
