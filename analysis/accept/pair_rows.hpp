#pragma once
// Rows that pairs of nodes measured (`assay run --pairs`): their evidence on each node, and on the
// path between two nodes.

#include <map>
#include <string>
#include <vector>

#include "analysis/accept/fleet.hpp"

namespace assay {

/// File in the folder of `assay run --pairs`, written before the pairs begin: the names of all
/// pairs, "n1+n2", one per line. The result of a pair is in the folder of that name beside it.
inline constexpr const char* pair_list = "pairs.txt";

/// The results of `inputs` (files and folders of results) whose folder is named in a list beside
/// that folder. Pairs without a result are those of the lists in and below `inputs`. InputError for
/// a list that cannot be read.
PairsOfRuns pair_runs(const std::vector<std::string>& inputs);

/// The time of a good pair: the (lower) median of the pairs, without the slowest ones. As many
/// pairs are left out as the node with the most pairs has (n - 1 if every pair was measured),
/// because one bad node can spoil only these. With three nodes, the median of all pairs would be a
/// bad node's own time, because two of three pairs are its own; with four nodes it would be halfway
/// to that time. With many nodes the result is close to the median of all pairs, and noise averages
/// out. `pairs`: times by "n1+n2", at least one.
double typical_time(const std::map<std::string, double>& pairs);

/// Gives each node of the pairs the row of its best pair: a node is bad if even its best pair is
/// bad, whatever its partners are. Adds the pairs themselves to fleet.paths. A single pair is a job
/// of several nodes (fleet.multi_node); if its id exists there already, the more severe row counts.
/// `pairs`: rows of one id by "n1+n2".
void add_pairs(Fleet& fleet, const std::string& id, const std::map<std::string, NodeRow>& pairs);

}  // namespace assay
