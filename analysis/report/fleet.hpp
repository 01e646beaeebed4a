#pragma once
// Condenses the results of many nodes for the page. A row that more than `most_nodes` nodes have is
// shown as the median of the nodes; rows that need attention (not ok, or slow) are also shown by
// node.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/acceptance.hpp"
#include "analysis/series.hpp"
#include "core/base/error.hpp"
#include "core/result/row_reader.hpp"

namespace assay::report {

/// Up to this number of nodes, every row of every node is shown.
inline constexpr std::size_t most_nodes = 32;
/// A node's row is listed individually if its time exceeds the median of the other nodes by more
/// than this fraction (the limit of the shipped criteria of `assay accept`).
inline constexpr double listed_above = 0.05;
/// At most this number of rows is listed by node, the most severe first.
inline constexpr std::size_t most_listed = 2000;

/// One row id over the nodes of a fleet.
struct FleetRow {
  std::string id;
  std::size_t result = 0;            ///< index of the result whose rows represent all
  std::size_t nodes = 0;             ///< nodes whose times are in the median
  std::size_t all_nodes = 0;         ///< nodes that have the row
  double median = 0;                 ///< of the nodes' medians, seconds; 0: no times
  std::optional<Interval> interval;  ///< of that median, over nodes
  std::optional<double> fraction;    ///< median of the nodes' fractions of their ceilings
  /// By column of the table of rows: values of all nodes, null for those that only one node has.
  nlohmann::json values;
};

struct FleetSummary {
  std::vector<FleetRow> rows;          ///< empty where the results are of 32 nodes or fewer
  nlohmann::json nodes;                ///< make_nodes_part() of all nodes
  nlohmann::json evidence;             ///< node_evidence() of all nodes
  std::size_t verified = 0;            ///< ok rows that are not shown by node
  std::size_t unsupported = 0;         ///< unsupported rows that are not shown by node
  std::size_t not_listed = 0;          ///< rows that need attention, beyond most_listed
  std::vector<std::size_t> rows_read;  ///< number, for each result
  ExitCode code = ExitCode::ok;        ///< for the rows of all nodes
};

/// The largest FleetRow::all_nodes.
std::size_t largest_count(const FleetSummary& fleet);

/// A KeepRow: keeps the fields of a row that condense() needs, and the whole row packed.
bool pack_row(Row& row, std::string_view text, const RunResult& head);

/// The exit code for the rows of these results. Published rows do not count.
ExitCode rows_exit_code(const Results& results);

/// Unpacks rows that were read by pack_row(): for a fleet only those that the page shows, otherwise
/// all.
FleetSummary condense(Results& results);

/// The document of `assay accept` for the page. With more than `most_nodes` nodes, it leaves out
/// the rows that passed on nodes that passed, and of the others the rows that exceed the space of
/// the page; "rows_of" then counts a node's rows.
nlohmann::json condense_acceptance(Acceptance acceptance);

/// Writes the medians of the fleet into the series of the rows that represent it.
void adopt_fleet(const FleetSummary& fleet, SeriesList& all);

}  // namespace assay::report
