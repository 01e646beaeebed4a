#include "analysis/report/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/accept/checks.hpp"
#include "analysis/load.hpp"
#include "analysis/report/parts.hpp"
#include "core/base/statistics.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr const char* packed = "packed";

/// One row id on one node.
struct Member {
  const Series* series = nullptr;
  std::string host;
  bool in_median = false;
  int gravity = 0;      ///< 0: needs no attention
  double slowness = 0;  ///< logarithm of its time over the median of the others
};

/// A row id over the nodes of a fleet.
struct Case {
  std::vector<Member> members;
  std::vector<double> medians;  ///< of those in the median
  double median = 0;
};

constexpr int slow = 1, noisy = 2, lacking = 3, bad = 4;

bool is_ok(const Member& member) { return has_time(*member.series); }

/// Chooses the members that enter the median, and those that need attention.
void judge(Case& fleet_case) {
  std::vector<double> times;
  std::size_t quiet = 0;
  for (const Member& member : fleet_case.members)
    if (is_ok(member)) {
      times.push_back(member.series->median);
      quiet += any_launch(*member.series, was_disturbed) ? 0 : 1;
    }
  // Disturbed times are upper limits, so they are left out if most nodes were quiet.
  const bool quiet_alone = 2 * quiet >= times.size();
  const std::vector<Standing> places = standings(times);
  std::size_t place = 0;
  for (Member& member : fleet_case.members) {
    if (!is_ok(member)) {
      const bool excused =
          member.series->status == "unsupported" && !lacks_required(*member.series);
      member.gravity = !excused ? bad : times.empty() ? 0 : lacking;
      continue;
    }
    const bool disturbed = any_launch(*member.series, was_disturbed);
    member.in_median = !disturbed || !quiet_alone;
    if (member.in_median) fleet_case.medians.push_back(member.series->median);
    const std::optional<double> others = places[place++].others;
    if (others) member.slowness = std::log(member.series->median / *others);
    member.gravity = disturbed ? noisy : member.slowness > std::log1p(listed_above) ? slow : 0;
  }
  if (!times.empty()) fleet_case.median = median(fleet_case.medians);
}

using FleetCases = std::map<std::pair<std::string, std::string>, Case>;  ///< by fleet and id

FleetCases collect_fleet_cases(const Results& results, const SeriesList& all) {
  FleetCases cases;
  for (const Series& series : all) {
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    const ResultEnvironment environment = results[series.result].environment(series.first());
    const std::string fleet = fleet_name(name_system(results, series), environment);
    cases[{fleet, series.first().id}].members.push_back({&series, environment.host});
  }
  std::erase_if(cases, [](const auto& entry) {
    std::set<std::string> hosts;
    for (const Member& member : entry.second.members) hosts.insert(member.host);
    return hosts.size() <= most_nodes;
  });
  for (auto& [key, fleet_case] : cases) judge(fleet_case);
  return cases;
}

/// The result that represents each fleet: the one with the most rows in order and, of these, the
/// one nearest to the medians. It is one result for all rows, so relations between rows are
/// relations within a node.
std::map<std::string, std::size_t> typical_results(const FleetCases& cases) {
  // Number of rows in order and their distance from the medians, by fleet and result.
  std::map<std::string, std::map<std::size_t, std::pair<int, double>>> candidates;
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members)
      if (member.gravity == 0) {
        auto& [rows, nearness] = candidates[key.first][member.series->result];
        ++rows;
        if (is_ok(member)) nearness -= std::fabs(member.slowness);
      }
  std::map<std::string, std::size_t> typical;
  for (const auto& [fleet, results] : candidates)
    typical[fleet] = std::max_element(results.begin(), results.end(), [](auto& a, auto& b) {
                       return a.second < b.second;
                     })->first;
  return typical;
}

/// The member that represents all; nothing if each member is listed.
const Member* representative(const Case& fleet_case, std::size_t typical) {
  const Member* best = nullptr;
  for (const Member& member : fleet_case.members) {
    const bool fit = member.in_median || (fleet_case.median == 0 && member.gravity == 0);
    if (!fit) continue;
    if (member.series->result == typical && member.gravity == 0) return &member;
    if (best == nullptr || std::fabs(member.slowness) < std::fabs(best->slowness)) best = &member;
  }
  return best;
}

FleetRow summarize(const std::string& id, const Case& fleet_case, const Member& stands) {
  FleetRow row;
  row.id = id;
  row.result = stands.series->result;
  row.all_nodes = fleet_case.members.size();
  row.nodes = fleet_case.medians.size();
  row.median = fleet_case.median;
  row.values = {{"host", fmt::format("{} nodes", row.all_nodes)}};
  if (row.nodes == 0) return row;
  row.interval = compute_median_interval(fleet_case.medians);
  std::size_t launches = 0;
  std::vector<double> fractions;
  double error = 0, over_bound = 0;
  for (const Member& member : fleet_case.members) {
    if (!member.in_median) continue;
    launches += member.series->rows.size();
    if (const auto& ceiling = member.series->first().ceiling; ceiling && ceiling->fraction)
      fractions.push_back(*ceiling->fraction);
    for (const Row& launch : member.series->rows) {
      if (!launch.verification) continue;
      error = std::max(error, launch.verification->max_error.value_or(0));
      over_bound = std::max(over_bound, launch.verification->error_over_bound.value_or(0));
    }
  }
  if (fractions.size() == row.nodes) row.fraction = ratio_median(fractions);
  const std::string all = row.nodes == row.all_nodes ? "" : fmt::format("{} of ", row.nodes);
  row.values = {{"host", fmt::format("median of {}{} nodes", all, row.all_nodes)},
                {"launches", launches},
                {"max_error", error},
                {"error_over_bound", over_bound}};
  for (const char* name : {"samples", "p95", "p99", "energy"}) row.values[name] = nullptr;
  return row;
}

/// Rows: result and id.
using RowSet = std::set<std::pair<std::size_t, std::string>>;

/// The most severe rows that need attention.
void list_members(const FleetCases& cases, RowSet& shown, FleetSummary& fleet) {
  std::vector<const Member*> listed;
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members)
      if (member.gravity > 0) listed.push_back(&member);
  std::stable_sort(listed.begin(), listed.end(), [](const Member* a, const Member* b) {
    return std::pair(-a->gravity, -a->slowness) < std::pair(-b->gravity, -b->slowness);
  });
  if (listed.size() > most_listed) {
    fleet.not_listed = listed.size() - most_listed;
    listed.resize(most_listed);
  }
  for (const Member* member : listed)
    shown.insert({member->series->result, member->series->first().id});
}

/// Unpacks the rows, except those that are `hidden`.
void unpack(Results& results, const RowSet& hidden) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Row> rows;
    for (Row& row : results[i].result.rows) {
      if (hidden.contains({i, row.id})) continue;
      const auto whole = row.rest.find(packed);
      rows.push_back(whole == row.rest.end() ? std::move(row)
                                             : json::from_cbor(whole->get_binary()).get<Row>());
    }
    results[i].result.rows = std::move(rows);
  }
}

}  // namespace

std::size_t largest_count(const FleetSummary& fleet) {
  std::size_t most = 0;
  for (const FleetRow& row : fleet.rows) most = std::max(most, row.all_nodes);
  return most;
}

bool pack_row(Row& row, std::string_view, const RunResult&) {
  row.samples_s = {};
  row.setup_s = {};
  std::vector<std::uint8_t> whole = json::to_cbor(row);
  whole.shrink_to_fit();  // it has grown by doubling, and exists as long as the fleet
  const bool marked = !choose_mark(row).empty();
  row.execution = {};
  row.layers = {};
  row.metrics = {};
  row.epochs = {};
  row.baseline = {};
  row.further_baselines = {};
  row.part_of = {};
  row.step_parameters = {};
  row.system_parameters = {};
  row.energy_domains_j = {};
  row.problem = {row.problem.descriptor};
  if (!row.published) row.rates = {};
  if (!marked) {
    row.device_state = {};
    std::erase_if(row.parameters, [](const auto& parameter) { return parameter.first != "nodes"; });
  }
  if (row.ceiling) row.ceiling = RowCeiling{.fraction = row.ceiling->fraction};
  if (row.time_s) {
    const std::optional<Interval> interval = row.time_s->ci95;
    keep_median_and_marks(row);
    row.time_s->ci95 = interval;
  }
  row.rest = {{packed, json::binary(std::move(whole))}};
  return true;
}

ExitCode rows_exit_code(const Results& results) {
  ExitCode code = ExitCode::ok;
  for (const NamedResult& named : results) {
    std::vector<Row> measured = named.rows();
    std::erase_if(measured, [](const Row& row) { return row.published; });
    if (!measured.empty()) code = find_gravest(code, exit_code(measured));
  }
  return code;
}

FleetSummary condense(Results& results) {
  FleetSummary fleet;
  for (const NamedResult& named : results) fleet.rows_read.push_back(named.rows().size());
  const SeriesList all = make_series(results);
  const FleetCases cases = collect_fleet_cases(results, all);
  RowSet shown, hidden;
  list_members(cases, shown, fleet);
  std::map<std::string, std::size_t> typical = typical_results(cases);
  for (const auto& [key, fleet_case] : cases)
    if (const Member* stands = representative(fleet_case, typical[key.first])) {
      fleet.rows.push_back(summarize(key.second, fleet_case, *stands));
      shown.insert({stands->series->result, key.second});
    }
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members) {
      const std::pair row{member.series->result, key.second};
      if (shown.contains(row)) continue;
      hidden.insert(row);
      if (member.gravity == 0) ++(is_ok(member) ? fleet.verified : fleet.unsupported);
    }
  if (!cases.empty()) {
    fleet.nodes = make_nodes_part(results, all);
    fleet.evidence = node_evidence(results, all);
    fleet.code = rows_exit_code(results);
  }
  unpack(results, hidden);
  return fleet;
}

void adopt_fleet(const FleetSummary& fleet, SeriesList& all) {
  std::map<std::pair<std::size_t, std::string>, const FleetRow*> rows;
  for (const FleetRow& row : fleet.rows) rows[{row.result, row.id}] = &row;
  for (Series& series : all) {
    const auto place = rows.find({series.result, series.first().id});
    if (place == rows.end() || place->second->nodes == 0 || series.status != "ok") continue;
    const FleetRow& row = *place->second;
    series.median = row.median;
    series.interval = *row.interval;
    series.has_interval = true;
    series.is_range = row.nodes < static_cast<std::size_t>(least_for_interval);
    for (SharedRow& launch : series.rows)
      if (launch->ceiling && row.fraction) launch.own().ceiling->fraction = *row.fraction;
  }
}

namespace {

constexpr std::size_t most_whole_nodes = 100;  ///< nodes that did not pass, which are shown with
                                               ///< all of their rows
constexpr std::size_t most_rows = 20;          ///< rows of each other node that did not pass

bool needs_a_look(const JudgedRow& row) {
  return row.verdict != NodeVerdict::pass || row.disturbed || row.throttled;
}

}  // namespace

json condense_acceptance(Acceptance acceptance) {
  std::vector<JudgedNode>& nodes = acceptance.nodes;
  if (nodes.size() <= most_nodes) return acceptance;
  std::vector<const JudgedNode*> failed;
  std::vector<std::size_t> row_counts;
  for (const JudgedNode& node : nodes) {
    row_counts.push_back(node.rows.size() + node.rows_missing);
    // A node without a result has only its verdict to show.
    if (node.verdict != NodeVerdict::pass && !node.rows.empty()) failed.push_back(&node);
  }
  // The most severe first; among equals the slowest.
  std::stable_sort(failed.begin(), failed.end(), [](const JudgedNode* a, const JudgedNode* b) {
    return std::pair(a->verdict, a->score.value_or(0)) >
           std::pair(b->verdict, b->score.value_or(0));
  });
  failed.resize(std::min(failed.size(), most_whole_nodes));
  for (JudgedNode& node : nodes) {
    node.health.before = node.health.after = nullptr;
    for (JudgedRow& row : node.rows) row.checks.clear();
    if (std::find(failed.begin(), failed.end(), &node) != failed.end()) continue;
    std::erase_if(node.rows, [](const JudgedRow& row) { return !needs_a_look(row); });
    node.rows.resize(std::min(node.rows.size(), most_rows));
  }
  json document = acceptance;
  for (std::size_t i = 0; i < nodes.size(); ++i) document["nodes"][i]["rows_of"] = row_counts[i];
  return document;
}

}  // namespace assay::report
