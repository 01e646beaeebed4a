#pragma once
// Rows that pairs of nodes measured (`assay run --pairs`): what they tell of each node, and of the
// path between two nodes.

#include <map>
#include <string>

#include "analysis/accept/fleet.hpp"

namespace assay {

/// The time of a good pair: the (lower) median of the pairs without the slowest, of which as many
/// are left out as the node with the most pairs has: n - 1 where every pair was measured. One bad
/// node spoils no more. The median of all pairs would be a bad node's own time among three
/// nodes, where two of three pairs are its own, and halfway to it among four. Among many nodes this
/// is close to the median of all pairs, whose noise averages out. `pairs`: times by "n1+n2", at
/// least one.
double typical_time(const std::map<std::string, double>& pairs);

/// Gives each node of the pairs the row of its best one: a node is bad if even that is, whatever
/// the others are. Adds the pairs themselves to fleet.paths. A single pair is a job of several
/// nodes (fleet.multi_node). `pairs`: rows of one id by "n1+n2".
void add_pairs(Fleet& fleet, const std::string& id, const std::map<std::string, NodeRow>& pairs);

}  // namespace assay
