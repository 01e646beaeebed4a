#pragma once
// The time of an allreduce over a network with levels, by algorithm. An algorithm is a list of
// rounds; in a round every rank sends at most one piece of the data and receives at most one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/scaling/network.hpp"
#include "analysis/scaling/step_time.hpp"
#include "core/base/unsupported.hpp"

namespace assay::scaling {

struct AlgorithmCost {
  std::string name;
  /// The time on one level, without segments: p ranks, m bytes, alpha and beta of the level.
  std::string formula;
  std::string source;  ///< citation of the algorithm or of its cost
};

/// ring, halving_doubling, hierarchical, torus2d, ddl.
const std::vector<AlgorithmCost>& algorithm_costs();

class AllreduceCost {
 public:
  /// Unsupported where the algorithm is not defined for this many ranks. std::logic_error for a
  /// name that algorithm_costs() does not have.
  static Result<AllreduceCost> make(const std::string& algorithm, int ranks,
                                    const Network& network);
  /// The end of each of these allreduces, in seconds. They run in this order: each rank begins an
  /// allreduce when it has finished the previous one.
  std::vector<double> ends(const std::vector<PendingSum>& sums, std::size_t element_bytes) const;
  /// The time of one allreduce.
  double seconds(std::int64_t elements, std::size_t element_bytes) const {
    return ends({{0, elements}}, element_bytes).front();
  }
  /// Number of messages of one allreduce that ends() simulates one by one; 0 if the time is a sum
  /// over rounds.
  double simulated_messages() const;

 private:
  friend class Simulation;
  using Route = std::function<int(int)>;  ///< the rank that a rank sends to; negative: none
  /// The elements that are divided into parts: all elements, those that the ranks of a node can
  /// divide evenly, or the remainder of that division.
  enum class Data : std::uint8_t { all, even, rest };
  /// A round of messages of one part each, repeated `times` times. If all ranks do the same in
  /// every round of the algorithm (rings), `links` gives the time of a round. Otherwise `receiver`
  /// has, for each rank, the rank that it sends to (negative: none), and `receives` whether it
  /// receives, because ranks that send less, or through a less busy port, run ahead.
  struct Round {
    int times;
    Data data;
    std::int64_t parts;
    std::vector<Link> links{};
    std::vector<int> receiver{};
    std::vector<char> receives{};
  };
  struct Size {
    double messages = 0, bytes = 0;  ///< of a part that is sent to one rank
  };

  explicit AllreduceCost(int ranks, const Network& network) : ranks_(ranks), network_(network) {}
  void add(int times, Data data, std::int64_t parts, const Route& receiver);
  /// Groups of `members` ranks r, r + stride, …. Each message has 1/parts of the data.
  void add_ring(int stride, int members, std::int64_t parts, Data data, int times);
  /// `first_only`: only the groups that begin at a multiple of `stride`.
  void add_halving_doubling(int stride, int members, std::int64_t parts, Data data,
                            bool first_only);
  void add_tree(int members, bool up);
  void add_hierarchical(int node);
  void add_torus(int rows);
  void add_ddl(const std::vector<int>& members);

  Size size_of_part(const Round& round, std::int64_t elements, std::size_t element_bytes) const;
  double in_step(std::int64_t elements, std::size_t element_bytes) const;
  /// ends(), message by message. A rank begins its next round when it has finished sending and
  /// receiving in this round. A port serves messages in the order in which they begin.
  std::vector<double> simulate(const std::vector<PendingSum>& sums,
                               std::size_t element_bytes) const;

  int ranks_, node_ = 1;
  bool in_step_ = true;  ///< true if all ranks do the same in each round
  Network network_;
  std::vector<Round> rounds_;
};

}  // namespace assay::scaling
