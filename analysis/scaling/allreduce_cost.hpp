#pragma once
// The time of allreduces over a network of levels, by algorithm: rounds in which every rank sends
// at most one piece and receives at most one.

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
  /// On one level, without segments: p ranks, m bytes.
  std::string formula;
  std::string source;
};

/// ring, halving_doubling, hierarchical, torus2d, ddl.
const std::vector<AlgorithmCost>& algorithm_costs();

class AllreduceCost {
 public:
  /// Unsupported where the algorithm is not defined for so many ranks. std::logic_error for a name
  /// that algorithm_costs() does not have.
  static Result<AllreduceCost> make(const std::string& algorithm, int ranks,
                                    const Network& network);
  /// When each of these allreduces ends, which are made in this order: each rank begins one when it
  /// has ended the one before.
  std::vector<double> ends(const std::vector<Asked>& asked, std::size_t element_bytes) const;
  /// One allreduce alone.
  double seconds(std::int64_t elements, std::size_t element_bytes) const {
    return ends({{0, elements}}, element_bytes).front();
  }
  /// Messages of one allreduce that ends() follows one by one; 0 where it counts rounds.
  double followed() const;

  /// What is divided into parts: everything, what the ranks of a node divide, or the remainder.
  enum class Of : std::uint8_t { all, even, rest };
  /// Messages of one part each, `times` times. Where all rounds of the algorithm are such that all
  /// ranks do the same (rings), `links` gives the time of a round. Else `to` and `receives` say by
  /// rank what is sent (negative: nothing), since ranks that send less, or through a less busy
  /// port, go ahead.
  struct Round {
    int times;
    Of of;
    std::int64_t parts;
    std::vector<Link> links;
    std::vector<int> to;
    std::vector<char> receives;
  };
  struct Size {
    double messages = 0, bytes = 0;  ///< of a part, on its way to one rank
  };

 private:
  using To = std::function<int(int)>;  ///< the rank that a rank sends to; negative: none

  explicit AllreduceCost(int ranks, const Network& network) : ranks_(ranks), network_(network) {}
  void add(int times, Of of, std::int64_t parts, const To& to);
  /// Of ranks r, r + stride, …: `members` of them are a group. Each has 1/parts of the data.
  static To ring_neighbour(int stride, int members);
  void add_ring(int stride, int members, std::int64_t parts, Of of, int times);
  /// `first_only`: of the groups that begin at a multiple of `stride` alone.
  void add_halving_doubling(int stride, int members, std::int64_t parts, Of of, bool first_only);
  void add_tree(int members);
  void add_hierarchical(int node);
  void add_torus(int rows);
  void add_ddl(const std::vector<int>& members);

  Size size_of_part(const Round& round, std::int64_t elements, std::size_t element_bytes) const;
  double in_step(std::int64_t elements, std::size_t element_bytes) const;

  int ranks_, node_ = 1;
  bool in_step_ = true;  ///< whether all ranks do the same in each round
  Network network_;
  std::vector<Round> rounds_;
};

}  // namespace assay::scaling
