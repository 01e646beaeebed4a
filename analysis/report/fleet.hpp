#pragma once
// Results of many nodes: what a page holds of them. A row that more than `most_nodes` nodes have
// becomes their median; rows that need a look stay, each with its node.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/base/error.hpp"
#include "core/result/row_reader.hpp"

namespace assay::report {

/// Nodes up to which every row of every node is shown.
inline constexpr std::size_t most_nodes = 32;
/// A node's row is listed by itself if its time is above the median of the other nodes by more than
/// this part (the limit of the shipped criteria of `assay accept`).
inline constexpr double listed_above = 0.05;
/// Rows listed by themselves, the gravest first.
inline constexpr std::size_t most_listed = 2000;

/// One row id over the nodes of a fleet.
struct FleetRow {
  std::string id;
  std::size_t result = 0;                      ///< whose rows stand for all
  std::size_t nodes = 0;                       ///< with a time that is part of the median
  std::size_t of = 0;                          ///< nodes that have the row
  std::size_t launches = 0;                    ///< of the nodes in the median
  double median = 0;                           ///< of the nodes' medians; 0 where none has a time
  std::optional<Interval> interval;            ///< of that median, over nodes
  std::optional<double> fraction;              ///< median of the nodes' fractions of their ceilings
  double max_error = 0, error_over_bound = 0;  ///< the largest of the nodes in the median
};

struct FleetSummary {
  std::vector<FleetRow> rows;   ///< empty where the results are of 32 nodes or fewer
  nlohmann::json nodes;         ///< nodes_part of all nodes
  std::size_t verified = 0;     ///< rows of nodes that are not shown by themselves; all are ok
  std::size_t unsupported = 0;  ///< the same of unsupported rows
  std::size_t not_listed = 0;   ///< rows that need a look, beyond most_listed
  std::vector<std::size_t> rows_read;  ///< of each result
  ExitCode code = ExitCode::ok;        ///< that the rows of all nodes ask for
};

/// Nodes of its row that most nodes have.
std::size_t largest_count(const FleetSummary& fleet);

/// Leaves of a row what a fleet is condensed by, and keeps the rest packed.
bool pack_row(nlohmann::json& row, std::string_view text, const nlohmann::json& head);

/// The exit code that the rows of these results ask for; published ones ask for nothing.
ExitCode code_of_rows(const std::vector<NamedResult>& results);

/// Unpacks rows that were read packed: of a fleet those that the page shows, else all.
FleetSummary condense(std::vector<NamedResult>& results);

/// Puts the numbers of the fleet into the series of the rows that stand for it.
void adopt_fleet(const FleetSummary& fleet, std::vector<Series>& all);

}  // namespace assay::report
