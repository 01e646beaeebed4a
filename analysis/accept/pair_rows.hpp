#pragma once
// Rows that pairs of nodes measured (`assay run --pairs`): what they tell of each node, and of the
// path between two nodes.

#include <map>
#include <string>
#include <vector>

#include "analysis/accept/fleet.hpp"

namespace assay {

/// File in the folder of `assay run --pairs`, written before the pairs begin: the names of all
/// pairs, "n1+n2", one per line. The result of a pair is in the folder of that name beside it.
inline constexpr const char* pair_list = "pairs.txt";

/// The results of `inputs` (files and folders of results) that are in a folder which a list beside
/// it names; without one of them those pairs of the lists in and below `inputs`. InputError for a
/// list that cannot be read.
PairsOfRuns pairs_of_runs(const std::vector<std::string>& inputs);

/// The time of a good pair: the (lower) median of the pairs without the slowest, of which as many
/// are left out as the node with the most pairs has: n - 1 where every pair was measured. One bad
/// node spoils no more. The median of all pairs would be a bad node's own time among three
/// nodes, where two of three pairs are its own, and halfway to it among four. Among many nodes this
/// is close to the median of all pairs, whose noise averages out. `pairs`: times by "n1+n2", at
/// least one.
double typical_time(const std::map<std::string, double>& pairs);

/// Gives each node of the pairs the row of its best one: a node is bad if even that is, whatever
/// the others are. Adds the pairs themselves to fleet.paths. A single pair is a job of several
/// nodes (fleet.multi_node), of which the more severe one counts where its id exists already.
/// `pairs`: rows of one id by "n1+n2".
void add_pairs(Fleet& fleet, const std::string& id, const std::map<std::string, NodeRow>& pairs);

}  // namespace assay
