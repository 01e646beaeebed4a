#pragma once
// Cuts the graph of a network into stages, each a graph of its own with a part of the parameters.
// It knows no network and no kind of layer: only which nodes touch which values.

#include <cstddef>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/network/network.hpp"

namespace assay {

/// A place between two forward nodes that one activation crosses, and back its gradient alone.
struct StageCut {
  std::size_t forward = 0;   ///< the last forward node before it
  std::size_t backward = 0;  ///< the last node of the backward pass behind it
  ValueIndex activation = Graph::none, gradient = Graph::none;
  double flops = 0;            ///< of all nodes before it, in both passes
  std::size_t parameters = 0;  ///< number of those before it
};

/// All places of a graph of one forward and one backward pass, in order. Residual additions and
/// concatenations have several activations beside each other: no place is within them.
std::vector<StageCut> stage_cuts(const Graph& pass);

/// The `stages` - 1 of these places between which the largest FLOPs of a stage are the smallest.
/// Each stage has parameters. Unsupported if there are too few places.
Result<std::vector<StageCut>> balance_cuts(const Graph& pass, int stages);

/// A stage of a network. Values that cross to and from its neighbours are memory of its own, which
/// messages fill and empty; `none` where it has no neighbour.
struct Stage {
  Graph graph;
  ValueIndex input = Graph::none, output = Graph::none;  ///< activations
  ValueIndex output_gradient = Graph::none, input_gradient = Graph::none;
  double flops = 0;
  /// Bytes of the values that wait from its forward to its backward pass.
  double waiting_bytes = 0;
};

/// The stages of a pass between these places, with the accumulation (if `accumulates`) and the
/// update of their own parameters.
std::vector<Stage> stages_between(const Graph& pass, const std::vector<StageCut>& cuts,
                                  const Learning& learning, bool accumulates);

}  // namespace assay
