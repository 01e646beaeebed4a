#pragma once
// Chooses the layers of a network that ranks divide among them. It knows no network: only which
// nodes compute products, and which each channel by itself.

#include <set>
#include <string>

#include "models/network/graph.hpp"

namespace assay {

/// Convolutions and dense layers of a pass whose features (or channels) `ranks` divides, and all of
/// whose readers compute each channel by itself, or sum over all of them: the products after these.
/// A layer is at one end of one pair alone. If there is a choice, as few layers as possible are
/// divided for each sum: the inner pair of a residual block, not the layers that it adds.
std::set<std::string> list_divided_layers(const Graph& pass, int ranks);

}  // namespace assay
