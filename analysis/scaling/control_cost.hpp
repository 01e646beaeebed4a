#pragma once
// The time in which ranks agree on the order of their tensors by messages
// (comm/layers/control.hpp), flat or by a tree.

#include <string>

#include "analysis/scaling/network.hpp"

namespace assay::scaling {

/// A message takes the alpha of the innermost level with both ranks, of its sender's time and then
/// of its receiver's, since a processor handles each.
struct ControlCost {
  double messages = 0;  ///< of the busiest rank for each tensor
  /// Between two decisions: the longest time for which one rank handles the messages of a tensor.
  double interval = 0;
  /// From the time when all ranks have a tensor until the last rank knows its place.
  double latency = 0;
  /// Until the last rank knows the order of so many tensors, which all ranks have at once.
  double seconds(double tensors) const { return latency + (tensors - 1) * interval; }
};

/// `way`: "flat", or "tree:R" with a radix R from 2 to 1024. InputError for other texts.
ControlCost control_cost(const std::string& way, int ranks, const Network& network);

}  // namespace assay::scaling
