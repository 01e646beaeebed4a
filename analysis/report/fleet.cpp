#include "analysis/report/fleet.hpp"

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
  std::size_t ok = 0, quiet = 0;
  for (const Member& member : fleet_case.members)
    if (is_ok(member)) {
      ++ok;
      quiet += any_launch(*member.series, was_disturbed) ? 0 : 1;
    }
  // Disturbed times are upper limits: they are left out while most nodes were quiet.
  const bool quiet_alone = 2 * quiet >= ok;
  std::vector<double> times;
  for (Member& member : fleet_case.members) {
    const bool disturbed = any_launch(*member.series, was_disturbed);
    if (is_ok(member)) {
      member.in_median = !disturbed || !quiet_alone;
      member.gravity = disturbed ? noisy : 0;
      times.push_back(member.series->median);
      if (member.in_median) fleet_case.medians.push_back(member.series->median);
    } else {
      const bool excused =
          member.series->status == "unsupported" && !lacks_required(*member.series);
      member.gravity = !excused ? bad : ok > 0 ? lacking : 0;
    }
  }
  if (times.empty()) return;
  fleet_case.median = median(fleet_case.medians);
  const std::vector<Standing> places = standings(times);
  std::size_t place = 0;
  for (Member& member : fleet_case.members) {
    if (!is_ok(member)) continue;
    const Standing& standing = places[place++];
    if (!standing.others) continue;
    member.slowness = std::log(member.series->median / *standing.others);
    if (member.gravity == 0 && member.slowness > std::log1p(listed_above)) member.gravity = slow;
  }
}

using FleetCases = std::map<std::pair<std::string, std::string>, Case>;  ///< by fleet and id

FleetCases cases_of_fleets(const std::vector<NamedResult>& results,
                           const std::vector<Series>& all) {
  FleetCases cases;
  for (const Series& series : all) {
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    const json& environments = results[series.result].result.at("environments");
    const std::size_t index = series.first().at("environment");
    const std::string system = system_of(results, series);
    cases[{fleet_name(system, environments.at(index)), series.first().at("id")}].members.push_back(
        {&series, text_of(environments[index], "host")});
  }
  std::erase_if(cases, [](const auto& entry) {
    std::set<std::string> hosts;
    for (const Member& member : entry.second.members) hosts.insert(member.host);
    return hosts.size() <= most_nodes;
  });
  for (auto& [key, fleet_case] : cases) judge(fleet_case);
  return cases;
}

/// The result that has most rows of a fleet in order, and of these the one nearest the medians. One
/// for all rows: what sets rows in relation then does it within a node.
std::size_t typical_result(const FleetCases& cases, const std::string& fleet) {
  std::map<std::size_t, std::pair<int, double>> found;  // rows, and how far they are
  for (const auto& [key, fleet_case] : cases)
    if (key.first == fleet)
      for (const Member& member : fleet_case.members)
        if (member.gravity == 0) {
          auto& [rows, distance] = found[member.series->result];
          ++rows;
          if (is_ok(member)) distance += std::fabs(member.slowness);
        }
  const auto best = std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.first, -a.second.second) <
           std::pair(b.second.first, -b.second.second);
  });
  return best == found.end() ? 0 : best->first;
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
  if (made.nodes == 0) return made;
  made.interval = median_interval(fleet_case.medians);
  std::vector<double> fractions;
  for (const Member& member : fleet_case.members) {
    if (!member.in_median) continue;
    made.launches += member.series->rows.size();
    const json ceiling = member.series->first().value("ceiling", json());
    if (ceiling.is_object() && ceiling.at("fraction").is_number())
      fractions.push_back(ceiling["fraction"]);
    for (const json& row : member.series->rows) {
      const json& verification = row.at("verification");
      made.max_error = std::max(made.max_error, verification.at("max_error").get<double>());
      if (const json part = verification.value("error_over_bound", json()); part.is_number())
        made.error_over_bound = std::max(made.error_over_bound, part.get<double>());
    }
  }
  if (fractions.size() == made.nodes) made.fraction = ratio_median(fractions);
  return made;
}

/// The rows that the page shows: result and id.
using Shown = std::set<std::pair<std::size_t, std::string>>;

/// The gravest of what needs a look.
void list_members(const FleetCases& cases, Shown& shown, FleetSummary& fleet) {
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

/// The rows that are condensed: result and id.
using Members = std::set<std::pair<std::size_t, std::string>>;

Members members_of(const FleetCases& cases) {
  Members members;
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members)
      members.insert({member.series->result, key.second});
  return members;
}

void unpack(std::vector<NamedResult>& results, const Shown* shown, const Members& members) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    json rows = json::array();
    for (json& row : results[i].result["rows"]) {
      const std::pair key{i, row.at("id").get<std::string>()};
      if (shown != nullptr && members.contains(key) && !shown->contains(key)) continue;
      rows.push_back(row.contains(packed) ? json::from_cbor(row[packed].get_binary())
                                          : std::move(row));
    }
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
  const ExitCode code = code_of_rows(results);
  const std::vector<Series> all = series_of(results);
  const FleetCases cases = cases_of_fleets(results, all);
  const Members members = members_of(cases);
  if (cases.empty()) {
    unpack(results, nullptr, members);
    return fleet;
  }
  Shown shown;
  list_members(cases, shown, fleet);
  std::map<std::string, std::size_t> typical;
  for (const auto& [key, fleet_case] : cases)
    if (!typical.contains(key.first)) typical[key.first] = typical_result(cases, key.first);
  for (const auto& [key, fleet_case] : cases)
    if (const Member* stands = representative(fleet_case, typical[key.first])) {
      fleet.rows.push_back(summary_of(key.second, fleet_case, *stands));
      shown.insert({stands->series->result, key.second});
    }
  for (const auto& [key, fleet_case] : cases)
    for (const Member& member : fleet_case.members)
      if (!shown.contains({member.series->result, key.second}) && member.gravity == 0)
        ++(is_ok(member) ? fleet.verified : fleet.unsupported);
  fleet.nodes = nodes_part(results, all);
  fleet.code = code;
  unpack(results, &shown, members);
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
