#pragma once
// `assay run --per-node` and `--pairs`: concurrent runs of one suite, on every node of an
// allocation, or on pairs of nodes.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/program/command.hpp"
#include "runner/nodes/many_runs.hpp"

namespace assay {

/// InputError if flags contradict --per-node or --pairs, or if these two contradict each other.
void refuse_beside_many(const Arguments& arguments);

/// Starts `assay run` on all nodes at the same time through the launcher; each writes into
/// OUT/<host name>. Prints which nodes have a result, and which are MISSING; with --walltime a node
/// that hangs is MISSING, too. Returns the exit code for the rows of all nodes, or 7 if a node is
/// missing. With --local-results LOCAL each node writes into LOCAL/<host name> on its own disk, and
/// the folders are collected into OUT at the end.
int run_on_every_node(const Arguments& arguments);

/// Prints which nodes have a result, why the others are MISSING, and what the runs found
/// (make_report). Returns the exit code.
ExitCode report_nodes(const std::vector<RunRemains>& runs, const std::filesystem::path& folder,
                      const std::optional<Site>& site);

/// Runs a suite; `node` begins its lines of progress.
using RunOfNode = std::function<int(const Arguments&, const std::string& node)>;
/// The process of one node: calls `run` with --out OUT/<host name>, and without the environment
/// variables of the launcher that started it. Always returns 0, because some launchers end all
/// processes when one fails; the outcome is in the folder.
int run_as_node(Arguments arguments, const RunOfNode& run);

/// All pairs of nodes, in rounds. A node is in at most one pair of a round: n - 1 rounds for an
/// even number of nodes, n for an odd one (the circle method of round-robin tournaments).
std::vector<std::vector<std::pair<std::string, std::string>>> rounds_of_pairs(
    std::vector<std::string> nodes);

/// Runs the suite on every pair of nodes, the pairs of a round at the same time, into
/// OUT/<node>+<node>. Prints the pairs that are slower than a typical pair, and the nodes that they
/// have in common.
int run_on_pairs(const Arguments& arguments);

/// Runs --per-node, then --pairs among the nodes that have ended their runs, with the cases that
/// several ranks run together. The result of each pair is beside those of the nodes, so that `assay
/// accept` judges a node by both.
int run_on_nodes_and_pairs(const Arguments& arguments);

/// Prints the pairs that are slower than a typical one by more than `tolerance` (a fraction), and
/// their nodes: those whose best pair is slow, and those with slow links. The typical time of a
/// case is the median of the pairs, without the n - 1 slowest pairs for n nodes, because one bad
/// node has as many pairs. Returns the exit code.
int report_pairs(const std::vector<RunRemains>& runs, double tolerance);

}  // namespace assay
