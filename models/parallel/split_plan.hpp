#pragma once
// Chooses the layers of a network that are divided among ranks. It needs no knowledge of the
// network, except which nodes compute products, and which process each channel separately.

#include <set>
#include <string>

#include "models/network/graph.hpp"

namespace assay {

/// Convolutions and dense layers of a pass for which two conditions hold: `ranks` divides their
/// features (or channels), and all readers either process each channel separately or are products
/// that sum over all channels. A divided layer and the product that sums over it are a pair; each
/// layer belongs to at most one pair. If there is a choice, as few layers as possible are divided
/// for each sum: the inner pair of a residual block, not the layers that the block adds.
std::set<std::string> list_divided_layers(const Graph& pass, int ranks);

}  // namespace assay
