#include "analysis/model/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/load.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/launches.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An empty text counts as null.
Cell cell_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
  return value.is_number() ? value : Cell();
}

json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}

Observation observation(const NamedResult& named, std::size_t result, const json& row) {
  Observation made;
  const auto put = [&](const std::string& column, const json& value) {
    if (const Cell cell = cell_of(value); !cell.is_null()) made.cells.emplace(column, cell);
  };
  const std::string system = text_of(named.result.at("system"), "name");
  const json& environments = named.result.at("environments");
  const std::size_t environment = row.at("environment");
  const std::string host =
      environment < environments.size() ? text_of(environments[environment], "host") : "";
  put("time", member(row.at("time_s"), "median"));
  put("error", member(member(row, "verification"), "max_error"));
  for (const auto& [name, value] : row.at("rates").items()) put("rate." + name, value);
  put("system", system);
  put("host", host);
  put("benchmark", row.at("benchmark"));
  if (const json& names = row.at("names"); !names.empty()) put("name", names.front());
  put("problem", row.at("problem").at("descriptor"));
  // What was asked for is a parameter; this is what ran.
  const json executed = member(row, "executed");
  put("ran", member(executed, "algorithm"));
  put("implementation", member(executed, "implementation"));
  // emplace keeps the first value: a parameter never hides a column above, nor a field of the
  // problem a parameter.
  for (const auto& [name, value] : row.at("parameters").items()) put(name, value);
  for (const auto& [name, value] : row.at("problem").items())
    if (name != "descriptor") put(name, value);

  made.published = row.value("published", false);
  const int launch = row.at("launch");
  made.label = fmt::format("{}: {}", system, text_of(row, "id"));
  made.launch = made.label;
  if (made.published) {
    made.citation = text_of(row, "citation");
  } else {
    made.label += fmt::format(", launch {}", launch);
    made.launch = fmt::format("{} {} {}", result, host, launch);
    made.shared = was_shared(row);
    made.throttled = was_throttled(row);
  }
  if (row.contains("incomparable")) {
    made.incomparable = text_of(row, "incomparable");
    made.scope = text_of(row, "comparable_within");
    if (made.scope.empty()) made.scope = fmt::format("its own file {}", result);
  }
  return made;
}

}  // namespace

bool keep_for_model(json& row, std::string_view, const json&) {
  static const std::set<std::string> kept{"id",          "benchmark",    "published",
                                          "environment", "launch",       "attempt",
                                          "status",      "reason",       "names",
                                          "problem",     "parameters",   "executed",
                                          "time_s",      "rates",        "verification",
                                          "citation",    "incomparable", "comparable_within",
                                          "device_state"};
  keep_members(row, [](const std::string& name) { return kept.contains(name); });
  keep_members(row["verification"], [](const std::string& name) { return name == "max_error"; });
  keep_median_and_marks(row);
  return true;
}

const Cell& Observation::at(const std::string& column) const {
  static const Cell none;
  const auto found = cells.find(column);
  return found == cells.end() ? none : found->second;
}

std::string level_name(const Cell& cell) {
  if (cell.is_string()) return cell;
  return cell.is_number_float() ? fmt::format("{}", cell.get<double>()) : cell.dump();
}

Frame::Frame(const std::vector<NamedResult>& results) {
  std::map<std::string, std::size_t> excluded;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // By id, because an incorrect launch excludes the other launches of its id.
    std::vector<std::string> ids;
    std::map<std::string, LaunchGroups> groups;
    for (const json& row : results[i].result.at("rows")) {
      const std::string id = row.at("id");
      if (!groups.contains(id)) ids.push_back(id);
      groups[id].add(SharedRow::in(row), environment_key(results[i].result, row));
    }
    for (const std::string& id : ids)
      for (const Launches& launches : groups[id].take())
        for (const json& row : launches.rows) {
          if (launches.status == "ok")
            observations_.push_back(observation(results[i], i, row));
          else if (const std::string status = row.at("status"); status != "ok")
            ++excluded[status];
          else
            ++excluded[fmt::format("ok, but another launch of the id is {}", launches.status)];
        }
  }
  for (const auto& [reason, rows] : excluded) left_out_.push_back({rows, reason});
  // All published rows of an id have the same launch number.
  std::map<std::string, int> seen;
  for (Observation& observation : observations_)
    if (const int n = ++seen[observation.launch]; observation.published && n > 1)
      observation.launch += fmt::format(" #{}", n);
}

std::vector<std::string> Frame::columns() const {
  std::set<std::string> names;
  for (const Observation& observation : observations_)
    for (const auto& [name, cell] : observation.cells) names.insert(name);
  return {names.begin(), names.end()};
}

bool Frame::numeric(const std::string& column) const {
  return std::all_of(observations_.begin(), observations_.end(),
                     [&](const Observation& observation) {
                       const Cell& cell = observation.at(column);
                       return cell.is_null() || cell.is_number();
                     });
}

template <class Keep>
void Frame::keep_only(const Keep& wanted, const std::string& reason_of_others) {
  const std::size_t before = size();
  std::erase_if(observations_,
                [&](const Observation& observation) { return !wanted(observation); });
  if (size() < before) left_out_.push_back({before - size(), reason_of_others});
}

void Frame::select(const std::vector<std::string>& columns) {
  const auto reasons_text = [&] {
    std::vector<std::string> all;
    for (const LeftOut& rows : left_out_)
      all.push_back(fmt::format("{}: {}", rows.rows, rows.reason));
    return all.empty() ? std::string("the files have no rows") : join(all, ", ");
  };
  if (observations_.empty())
    throw NothingToModel(fmt::format("no row can be used ({}). Give results with rows that are ok.",
                                     reasons_text()));
  const std::vector<std::string> known = this->columns();
  for (const std::string& column : columns)
    if (std::find(known.begin(), known.end(), column) == known.end())
      // The columns are those of the results: no other command lists them.
      throw InputError(
          unknown_name("column", column, known) +
          (known.size() > most_valid_names ? " The results have: " + join(known, ", ") + "." : ""));
  for (const std::string& column : columns)
    keep_only([&](const Observation& observation) { return !observation.at(column).is_null(); },
              fmt::format("no value of {}", column));
  if (observations_.empty())
    throw NothingToModel(
        fmt::format("no row has all columns of the formula (rows left out: {}). Remove a column.",
                    reasons_text()));
  // A number that its source calls incomparable is never used in a model with other numbers.
  const bool any_comparable =
      std::any_of(observations_.begin(), observations_.end(),
                  [](const Observation& observation) { return observation.scope.empty(); });
  const std::string scope = any_comparable ? "" : observations_.front().scope;
  std::set<std::string> reasons;
  for (const Observation& observation : observations_)
    if (observation.scope != scope) reasons.insert(observation.incomparable);
  keep_only([&](const Observation& observation) { return observation.scope == scope; },
            "not comparable with the others: " +
                join(std::vector<std::string>(reasons.begin(), reasons.end()), "; "));
}

std::vector<std::size_t> groups_of(const Frame& frame, const std::string& by) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> groups;
  for (const Observation& observation : frame.observations())
    groups.push_back(
        known
            .emplace(by == "launch" ? observation.launch : level_name(observation.at(by)),
                     known.size())
            .first->second);
  return groups;
}

}  // namespace assay
