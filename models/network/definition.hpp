#pragma once
// A network as its documentation defines it. The definition shares no code with the layers of a
// Graph, so that checks can compare both.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/network/input_shape.hpp"
#include "models/network/reference_pass.hpp"

namespace assay {

/// Dimensions by parameter: filters [channels, inputs, taps, taps], the last layer's weights
/// [classes, features]; biases and normalizations have one.
using DefinedParameters = std::map<std::string, std::vector<std::int64_t>>;

/// The input of a network, and the classes of its labels.
struct DefinedInput {
  InputShape shape;
  std::int64_t classes = 0;
  Labels labels = Labels::per_sample;
  /// The factor of each class in the loss, for labels of pixels
  /// (ReferencePass::pixel_cross_entropy).
  std::vector<double> class_factors{};
};

/// The stride of a convolution's filter, and the distance of the filter's taps.
struct DefinedWindow {
  std::int64_t stride = 1, dilation = 1;
  static constexpr std::int64_t half_filter = -1;
  /// The padding on each side; half_filter: half the filter's extent, so that only the stride makes
  /// planes smaller.
  std::int64_t padding = half_filter;
};

struct NetworkDefinition {
  DefinedInput input;
  DefinedParameters parameters{};
  /// The form that Network::make_small() has.
  ReferenceNetwork small{};
  /// Dense layers begin with weights within sqrt(6 / (inputs + features)) and biases 0.
  bool glorot = false;
  /// Filters, by name, whose initial weights have another bound than sqrt(6 / (channels taps^2)).
  std::map<std::string, double> bounds{};
  /// Windows, by layer, of convolutions whose window is not DefinedWindow{}. A transposed
  /// convolution is the bwd_data of a convolution, and has the window of that convolution.
  std::map<std::string, DefinedWindow> windows{};
};

struct Graph;

/// The first difference between the layers of a graph and those of its network's definition: names
/// and dimensions of parameters, windows of convolutions. "" if there is none. `problem`: the name
/// of the network in the text.
std::string find_fault_of_layers(const Graph& graph, const std::string& problem,
                                 const NetworkDefinition& network);

}  // namespace assay
