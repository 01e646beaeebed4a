#include "analysis/report/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/accept/checks.hpp"
#include "analysis/report/parts.hpp"
#include "core/base/statistics.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr const char* packed = "packed";

template <class Names>
void leave_only(json& object, const Names& names) {
  if (object.is_object())
    std::erase_if(object.get_ref<json::object_t&>(),
                  [&](const auto& field) { return !names.contains(field.first); });
}

/// One row id on one node.
struct Member {
  const Series* series = nullptr;
  std::string host;
  bool in_median = false;
  int gravity = 0;      ///< 0: needs no look
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

/// Chooses what is part of the median, and what needs a look.
void judge(Case& fleet_case) {
  std::vector<double> times;
  std::size_t quiet = 0;
  for (const Member& member : fleet_case.members)
    if (is_ok(member)) {
      times.push_back(member.series->median);
      quiet += any_launch(*member.series, was_disturbed) ? 0 : 1;
    }
  // Disturbed times are upper limits: they are left out while most nodes were quiet.
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

FleetCases cases_of_fleets(const std::vector<NamedResult>& results,
                           const std::vector<Series>& all) {
  FleetCases cases;
  for (const Series& series : all) {
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    const json& environment = environment_of(results, series, series.first());
    const std::string fleet = fleet_name(system_of(results, series), environment);
    cases[{fleet, series.first().at("id")}].members.push_back(
        {&series, text_of(environment, "host")});
  }
  std::erase_if(cases, [](const auto& entry) {
    std::set<std::string> hosts;
    for (const Member& member : entry.second.members) hosts.insert(member.host);
    return hosts.size() <= most_nodes;
  });
  for (auto& [key, fleet_case] : cases) judge(fleet_case);
  return cases;
}

/// For each fleet the result that has most rows in order, and of these the one nearest the medians.
/// One for all rows: relations between rows are then those within a node.
std::map<std::string, std::size_t> typical_results(const FleetCases& cases) {
  // By fleet and result: the rows in order, and how near they are.
  std::map<std::string, std::map<std::size_t, std::pair<int, double>>> found;
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members)
      if (member.gravity == 0) {
        auto& [rows, nearness] = found[key.first][member.series->result];
        ++rows;
        if (is_ok(member)) nearness -= std::fabs(member.slowness);
      }
  std::map<std::string, std::size_t> typical;
  for (const auto& [fleet, results] : found)
    typical[fleet] = std::max_element(results.begin(), results.end(), [](auto& a, auto& b) {
                       return a.second < b.second;
                     })->first;
  return typical;
}

/// The member that stands for all; nothing where each of them is listed.
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

FleetRow summary_of(const std::string& id, const Case& fleet_case, const Member& stands) {
  FleetRow made;
  made.id = id;
  made.result = stands.series->result;
  made.of = fleet_case.members.size();
  made.nodes = fleet_case.medians.size();
  made.median = fleet_case.median;
  made.values = {{"host", fmt::format("{} nodes", made.of)}};
  if (made.nodes == 0) return made;
  made.interval = median_interval(fleet_case.medians);
  std::size_t launches = 0;
  std::vector<double> fractions;
  std::map<std::string, double> errors{{"max_error", 0}, {"error_over_bound", 0}};
  for (const Member& member : fleet_case.members) {
    if (!member.in_median) continue;
    launches += member.series->rows.size();
    const json ceiling = member.series->first().value("ceiling", json());
    if (ceiling.is_object() && ceiling.at("fraction").is_number())
      fractions.push_back(ceiling["fraction"]);
    for (const json& row : member.series->rows)
      for (auto& [name, largest] : errors)
        if (const json error = row.at("verification").value(name, json()); error.is_number())
          largest = std::max(largest, error.get<double>());
  }
  if (fractions.size() == made.nodes) made.fraction = ratio_median(fractions);
  const std::string all = made.nodes == made.of ? "" : fmt::format("{} of ", made.nodes);
  made.values = {{"host", fmt::format("median of {}{} nodes", all, made.of)},
                 {"launches", launches}};
  made.values.update(errors);
  for (const char* name : {"samples", "min", "p95", "p99", "energy"}) made.values[name] = nullptr;
  return made;
}

/// Rows: result and id.
using RowSet = std::set<std::pair<std::size_t, std::string>>;

/// The gravest of what needs a look.
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
    shown.insert({member->series->result, member->series->first().at("id")});
}

/// Unpacks the rows, but those that are `hidden`.
void unpack(std::vector<NamedResult>& results, const RowSet& hidden) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    json rows = json::array();
    for (json& row : results[i].result["rows"])
      if (!hidden.contains({i, row.at("id")}))
        rows.push_back(row.contains(packed) ? json::from_cbor(row[packed].get_binary())
                                            : std::move(row));
    results[i].result["rows"] = std::move(rows);
  }
}

}  // namespace

std::size_t largest_count(const FleetSummary& fleet) {
  std::size_t most = 0;
  for (const FleetRow& row : fleet.rows) most = std::max(most, row.of);
  return most;
}

bool pack_row(json& row, std::string_view, const json&) {
  row.erase("samples_s");
  row.erase("setup_s");
  std::vector<std::uint8_t> rest = json::to_cbor(row);
  static const std::set<std::string> fields{
      "id",      "names",     "benchmark",  "problem",      "environment", "launch",
      "attempt", "published", "status",     "reason",       "rates",       "required",
      "time_s",  "ceiling",   "parameters", "verification", "device_state"};
  leave_only(row, fields);
  leave_only(row["problem"], std::set<std::string>{"descriptor"});
  if (mark_of(row).empty()) {
    leave_only(row["parameters"], std::set<std::string>{"nodes"});
    row.erase("device_state");
  }
  if (row.contains("ceiling")) leave_only(row["ceiling"], std::set<std::string>{"fraction"});
  if (row.contains("verification"))
    leave_only(row["verification"], std::set<std::string>{"max_error", "error_over_bound"});
  static const std::set<std::string> times = [] {
    std::set<std::string> names = mark_fields();
    names.insert({"median", "ci95"});
    return names;
  }();
  leave_only(row["time_s"], times);
  if (!row.value("published", false)) row["rates"] = json::object();
  rest.shrink_to_fit();  // it has grown by doubling, and stays as long as the fleet does
  row[packed] = json::binary(std::move(rest));
  return true;
}

ExitCode code_of_rows(const std::vector<NamedResult>& results) {
  ExitCode code = ExitCode::ok;
  for (const NamedResult& named : results) {
    json measured = json::array();
    for (const json& row : named.result.at("rows")) {
      if (row.value("published", false)) continue;
      json& copy = measured.emplace_back();
      for (const char* field : {"id", "launch", "attempt", "status"}) copy[field] = row.at(field);
      copy["required"] = row.value("required", false);
    }
    if (!measured.empty()) code = gravest(code, exit_code(measured));
  }
  return code;
}

FleetSummary condense(std::vector<NamedResult>& results) {
  FleetSummary fleet;
  for (const NamedResult& named : results) fleet.rows_read.push_back(named.result["rows"].size());
  const std::vector<Series> all = series_of(results);
  const FleetCases cases = cases_of_fleets(results, all);
  RowSet shown, hidden;
  list_members(cases, shown, fleet);
  std::map<std::string, std::size_t> typical = typical_results(cases);
  for (const auto& [key, fleet_case] : cases)
    if (const Member* stands = representative(fleet_case, typical[key.first])) {
      fleet.rows.push_back(summary_of(key.second, fleet_case, *stands));
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
    fleet.nodes = nodes_part(results, all);
    fleet.code = code_of_rows(results);
  }
  unpack(results, hidden);
  return fleet;
}

void adopt_fleet(const FleetSummary& fleet, std::vector<Series>& all) {
  std::map<std::pair<std::size_t, std::string>, const FleetRow*> rows;
  for (const FleetRow& row : fleet.rows) rows[{row.result, row.id}] = &row;
  for (Series& series : all) {
    const auto found = rows.find({series.result, series.first().at("id").get<std::string>()});
    if (found == rows.end() || found->second->nodes == 0 || series.status != "ok") continue;
    const FleetRow& row = *found->second;
    series.median = row.median;
    series.interval = *row.interval;
    series.has_interval = true;
    series.is_range = row.nodes < static_cast<std::size_t>(least_for_interval);
    for (SharedRow& shared : series.rows)
      if (const json& launch = shared;
          launch.contains("ceiling") && launch["ceiling"].is_object() && row.fraction)
        shared.own()["ceiling"]["fraction"] = *row.fraction;
  }
}

}  // namespace assay::report
