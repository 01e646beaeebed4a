// Simulates allreduces message by message, for algorithms whose ranks do not proceed in step.

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "analysis/scaling/allreduce_cost.hpp"

namespace assay::scaling {

class Simulation {
 public:
  Simulation(const AllreduceCost& cost, const std::vector<PendingSum>& sums,
             std::size_t element_bytes)
      : network_(cost.network_), rounds_(cost.rounds_), sums_(sums), ends_(sums.size(), 0) {
    for (const PendingSum& bucket : sums) {
      auto& of_rounds = sizes_.emplace_back();
      for (const AllreduceCost::Round& round : rounds_)
        of_rounds.push_back(cost.size_of_part(round, bucket.elements, element_bytes));
    }
    for (std::size_t i = 0; i < rounds_.size(); ++i)
      steps_.insert(steps_.end(), static_cast<std::size_t>(rounds_[i].times), i);
    ranks_.resize(static_cast<std::size_t>(cost.ranks_));
    for (Rank& rank : ranks_) rank.arrived.resize(steps_.size() * sums.size(), unknown);
    ports_.resize(network_.levels.size());
    for (std::size_t level = 1; level < network_.levels.size(); ++level)
      ports_[level].resize(
          static_cast<std::size_t>(find_group(network_, cost.ranks_ - 1, level - 1)) + 1);
  }

  std::vector<double> ends() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) go_on(rank);
    while (!begins_.empty()) {
      const auto [time, rank] = begins_.top();
      begins_.pop();
      const std::size_t receiver = send(rank, time);
      go_on(rank);
      go_on(receiver);
    }
    return ends_;
  }

 private:
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  struct Rank {
    std::size_t at = 0;  ///< step, counted over all allreduces
    double free = 0;
    bool waits = false;           ///< its message is among begins_
    bool sent = false;            ///< the message of this step
    std::vector<double> arrived;  ///< by step
  };
  const AllreduceCost::Round& round_at(std::size_t step) const {
    return rounds_[steps_[step % steps_.size()]];
  }
  const AllreduceCost::Size& size_at(std::size_t step) const {
    return sizes_[step / steps_.size()][steps_[step % steps_.size()]];
  }

  /// Advances a rank to its next message, or to a message that has not arrived.
  void go_on(std::size_t index) {
    Rank& rank = ranks_[index];
    if (rank.waits) return;
    for (; rank.at < rank.arrived.size(); ++rank.at, rank.sent = false) {
      const std::size_t allreduce = rank.at / steps_.size();
      rank.free = std::max(rank.free, sums_[allreduce].ready);
      const AllreduceCost::Round& round = round_at(rank.at);
      if (size_at(rank.at).messages > 0) {
        if (round.receiver[index] >= 0 && !rank.sent) {
          rank.waits = true;
          begins_.emplace(rank.free, index);
          return;
        }
        if (round.receives[index] != 0) {
          if (rank.arrived[rank.at] == unknown) return;
          rank.free = std::max(rank.free, rank.arrived[rank.at]);
        }
      }
      if ((rank.at + 1) % steps_.size() == 0)
        ends_[allreduce] = std::max(ends_[allreduce], rank.free);
    }
  }

  /// Returns the receiver.
  std::size_t send(std::size_t index, double start) {
    Rank& rank = ranks_[index];
    const int sender = static_cast<int>(index), receiver = round_at(rank.at).receiver[index];
    const AllreduceCost::Size& size = size_at(rank.at);
    const std::size_t crossed = crossing(network_, sender, receiver);
    double moved = start + network_.levels[0].beta * size.bytes;
    for (std::size_t level = 1; level <= crossed; ++level) {
      const Level& at = network_.levels[level];
      double& port =
          ports_[level][static_cast<std::size_t>(find_group(network_, sender, level - 1))];
      port = std::max(port, start) + at.beta * size.bytes / at.links;
      moved = std::max({moved, start + at.beta * size.bytes, port});
    }
    rank.free = moved + size.messages * network_.levels[crossed].alpha;
    rank.sent = true;
    rank.waits = false;
    ranks_[receiver].arrived[rank.at] = rank.free;
    return static_cast<std::size_t>(receiver);
  }

  const Network& network_;
  const std::vector<AllreduceCost::Round>& rounds_;
  const std::vector<PendingSum>& sums_;
  std::vector<std::vector<AllreduceCost::Size>> sizes_;  ///< [allreduce][round]
  std::vector<std::size_t> steps_;                       ///< the round of each step of one
                                                         ///< allreduce
  std::vector<double> ends_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<double>> ports_;  ///< by level and group: the times from which ports are
                                            ///< free
  using Begin = std::pair<double, std::size_t>;
  std::priority_queue<Begin, std::vector<Begin>, std::greater<>> begins_;
};

std::vector<double> AllreduceCost::simulate(const std::vector<PendingSum>& sums,
                                            std::size_t element_bytes) const {
  return Simulation(*this, sums, element_bytes).ends();
}

}  // namespace assay::scaling
