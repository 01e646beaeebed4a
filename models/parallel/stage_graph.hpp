#pragma once
// Cuts the graph of a network into stages; each is a graph with a part of the parameters. It needs
// no knowledge of networks and layers, except which nodes use which values.

#include <cstddef>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/network/network.hpp"

namespace assay {

/// A place between two forward nodes that only one activation crosses, and only its gradient in the
/// backward pass.
struct StageCut {
  std::size_t forward = 0;   ///< the last forward node before the place
  std::size_t backward = 0;  ///< the last backward node of the stages behind the place
  ValueIndex activation = Graph::none, gradient = Graph::none;
  double flops = 0;            ///< of all nodes before the place, in both passes
  std::size_t parameters = 0;  ///< number of parameters before the place
};

/// All such places of a graph with one forward and one backward pass, in order. Within residual
/// blocks and concatenated branches several activations are alive, so no place is there.
std::vector<StageCut> stage_cuts(const Graph& pass);

/// The `stages` - 1 of these places that make the largest FLOPs of a stage smallest. Each stage has
/// parameters. Unsupported if there are too few places.
Result<std::vector<StageCut>> balance_cuts(const Graph& pass, int stages);

/// A stage of a network. Values exchanged with its neighbours have their own memory, from and to
/// which messages copy; `none` if there is no such neighbour.
struct Stage {
  Graph graph;
  ValueIndex input = Graph::none, output = Graph::none;  ///< activations
  ValueIndex output_gradient = Graph::none, input_gradient = Graph::none;
  double flops = 0;
  /// Bytes of the values that must be kept from the forward to the backward pass.
  double waiting_bytes = 0;
};

/// The stages of a pass between these places, with the accumulation (if `accumulates`) and the
/// update of their own parameters.
std::vector<Stage> stages_between(const Graph& pass, const std::vector<StageCut>& cuts,
                                  const Learning& learning, bool accumulates);

}  // namespace assay
