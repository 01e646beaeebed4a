#pragma once
// A network as its documentation defines it. The definition shares no code with the layers of a
// Graph, so that checks can compare both.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/network/input_shape.hpp"
#include "models/network/reference_pass.hpp"

namespace assay {

/// Dimensions by parameter: filters [channels, inputs, taps, taps], the last layer's weights
/// [classes, features]; biases and normalizations have one.
using DefinedParameters = std::map<std::string, std::vector<std::int64_t>>;

/// What a network reads, and the number of classes of its labels.
struct DefinedInput {
  InputShape shape;
  std::int64_t classes = 0;
};

struct NetworkDefinition {
  DefinedInput input;
  DefinedParameters parameters{};
  /// The form that Network::make_small() has.
  ReferenceNetwork small{};
  /// Dense layers begin with weights within sqrt(6 / (inputs + features)) and biases 0.
  bool glorot = false;
};

}  // namespace assay
