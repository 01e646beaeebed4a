#pragma once
// Layers divided among ranks, and the parts of their parameters.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/network.hpp"

namespace assay {

/// The part of one of `ranks` ranks in a pass, or in a step (with update). list_divided_layers()
/// names the divided layers. Nodes and parameters correspond to those of the undivided network, in
/// the same order.
Graph split_pass(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks);
Graph split_step(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks, bool accumulates, MaskSeed masks);

/// FLOPs of a pass.
struct SplitFlops {
  double all = 0;      ///< of the undivided network
  double divided = 0;  ///< of the nodes in it that ranks divide
  double of_rank = 0;  ///< of a rank's part of the network
};
SplitFlops split_flops(const Graph& whole, const Graph& part);

/// Copies the parameters and statistics of rank `rank` between values of an undivided network and
/// its own values: some features or inputs of divided weights, some elements of divided biases, and
/// all other parameters.
class PartsOfParameters {
 public:
  /// `filters_last`: the inputs of one point of a filter are adjacent in memory
  /// (Executor::filters_last()).
  PartsOfParameters(const Graph& whole, const Graph& part, int rank, bool filters_last = false);
  /// `size`: bytes of an element.
  void take(const std::vector<std::byte>& whole, std::vector<std::byte>& part,
            std::size_t size) const;
  void place(const std::vector<std::byte>& part, std::vector<std::byte>& whole,
             std::size_t size) const;
  /// The same for means and variances.
  void take_statistics(const std::vector<double>& whole, std::vector<double>& part) const;
  void place_statistics(const std::vector<double>& part, std::vector<double>& whole) const;

 private:
  /// Rows of one parameter, at equal distances in the whole parameter.
  struct Block {
    std::int64_t whole = 0, part = 0, rows = 0, columns = 0, whole_columns = 0;
  };
  template <class Copy>
  static void each_row(const std::vector<Block>& blocks, const Copy& copy);

  std::vector<Block> blocks_, statistics_;
};

}  // namespace assay
