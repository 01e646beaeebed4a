#pragma once
// Layers divided among ranks, and the parts of their parameters.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/network.hpp"

namespace assay {

/// The part of one of `ranks` ranks of a pass, or of a step (with update). UnsupportedCase as
/// GraphBuilder::divide.
Graph split_pass(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks);
Graph split_step(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks, bool accumulates, MaskSeed masks);

/// Copies the parameters of rank `rank` between an undivided network's value and its own: rows or
/// columns of weights and elements of biases, or all of a parameter that every rank has.
class PartsOfParameters {
 public:
  PartsOfParameters(const Graph& whole, const Graph& part, int rank);
  /// `size`: bytes of an element.
  void take(const std::vector<std::byte>& whole, std::vector<std::byte>& part,
            std::size_t size) const;
  void place(const std::vector<std::byte>& part, std::vector<std::byte>& whole,
             std::size_t size) const;

 private:
  /// Rows of one parameter, which lie apart in the whole one.
  struct Block {
    std::int64_t whole = 0, part = 0, rows = 0, columns = 0, whole_columns = 0;
  };
  template <class Copy>
  void each_row(const Copy& copy) const;

  std::vector<Block> blocks_;
};

}  // namespace assay
