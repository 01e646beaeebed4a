#pragma once
// `assay run --per-node` and `--pairs`: many runs of one suite at once, on every node of an
// allocation, or on pairs of nodes.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/many_runs.hpp"
#include "core/program/command.hpp"

namespace assay {

/// Starts `assay run` on every node at once through the launcher; each writes into OUT/<host name>.
/// Prints which nodes have a result, and which are MISSING. The exit code that the rows of all
/// nodes ask for, and 7 where a node is missing. With --local-results LOCAL each writes into
/// LOCAL/<host name> of its node, and the folders are collected into OUT at the end.
int run_on_every_node(const Given& given);

/// In OUT at the end of such a run: the name of each node on a line, also of those that are
/// missing.
inline constexpr const char* node_list = "nodes.txt";
/// Which of them have a result, and why the others are MISSING.
std::string report_of_nodes(const std::vector<LeftRun>& runs, const std::filesystem::path& folder);

/// One node's part: `run` with --out OUT/<host name>, and without a trace of the launcher that has
/// started it. Always 0: some launchers end all processes when one fails; the folder tells the
/// rest.
int run_as_node(Given given, const std::function<int(const Given&)>& run);

/// Every two nodes, in rounds in which a node is in one pair at most: n - 1 rounds for an even
/// number of nodes, n for an odd one (the circle method of round-robin tournaments).
std::vector<std::vector<std::pair<std::string, std::string>>> rounds_of_pairs(
    std::vector<std::string> nodes);

/// Runs the suite on every pair of nodes, the pairs of a round at once, into OUT/<node>+<node>.
/// Prints each pair that is slower than the median of all, and what nodes they have in common.
int run_on_pairs(const Given& given);

/// In OUT at the end of such a run: the name of each pair on a line.
inline constexpr const char* pair_list = "pairs.txt";
/// Prints which pairs are slow by more than `tolerance`, and by node; the exit code of it.
int report_pairs(const std::vector<LeftRun>& runs, double tolerance);
/// What the suite allows, 0.1 where it says nothing.
double tolerance_of_pairs(const std::filesystem::path& suite);

}  // namespace assay
