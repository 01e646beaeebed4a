#pragma once
// A network as its documentation defines it. The definition shares no code with the layers of a
// Graph, so that checks can compare both.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/network/reference_pass.hpp"

namespace assay {

/// Dimensions by parameter: filters [channels, inputs, taps, taps], the last layer's weights
/// [classes, features]; biases and normalizations have one.
using DefinedParameters = std::map<std::string, std::vector<std::int64_t>>;

struct NetworkDefinition {
  DefinedParameters parameters;
  /// The form that Network::make_small() has.
  ReferenceNetwork small;
};

}  // namespace assay
