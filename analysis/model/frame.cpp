#include "analysis/model/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/launches.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An empty text says no more than null.
Cell cell_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
  return value.is_number() ? value : Cell();
}

json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}

Observation observation(const NamedResult& named, std::size_t result, const json& row) {
  Observation one;
  const auto put = [&](const std::string& column, const json& value) {
    if (const Cell cell = cell_of(value); !cell.is_null()) one.cells.emplace(column, cell);
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
  // Emplaced: what stands above is not hidden by a parameter, nor a parameter by the problem's.
  for (const auto& [name, value] : row.at("parameters").items()) put(name, value);
  for (const auto& [name, value] : row.at("problem").items())
    if (name != "descriptor") put(name, value);

  one.published = row.value("published", false);
  const int launch = row.at("launch");
  one.label = fmt::format("{}: {}", system, text_of(row, "id"));
  one.launch = one.label;
  if (one.published) {
    one.citation = text_of(row, "citation");
  } else {
    one.label += fmt::format(", launch {}", launch);
    one.launch = fmt::format("{} {} {}", result, host, launch);
    one.shared = was_shared(row);
  }
  if (row.contains("incomparable")) {
    one.incomparable = text_of(row, "incomparable");
    one.scope = text_of(row, "comparable_within");
    if (one.scope.empty()) one.scope = "its own file" + std::string(result, ' ');
  }
  return one;
}

}  // namespace

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
  std::map<std::string, std::size_t> gone;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // By id, so that a wrong launch takes the others of its id with it.
    std::vector<std::string> ids;
    std::map<std::string, LaunchGroups> groups;
    for (const json& row : results[i].result.at("rows")) {
      const std::string id = row.at("id");
      if (!groups.contains(id)) ids.push_back(id);
      groups[id].add(row, environment_key(results[i].result, row));
    }
    for (const std::string& id : ids)
      for (const Launches& launches : groups[id].summarized())
        for (const json& row : launches.rows) {
          if (launches.status == "ok")
            observations_.push_back(observation(results[i], i, row));
          else if (const std::string status = row.at("status"); status != "ok")
            ++gone[status];
          else
            ++gone[fmt::format("ok, but another launch of the id is {}", launches.status)];
        }
  }
  for (const auto& [reason, rows] : gone) left_out_.push_back({rows, reason});
  // Published rows of one id have one launch number.
  std::map<std::string, int> seen;
  for (Observation& one : observations_)
    if (const int n = ++seen[one.launch]; one.published && n > 1)
      one.launch += fmt::format(" #{}", n);
}

std::vector<std::string> Frame::columns() const {
  std::set<std::string> names;
  for (const Observation& one : observations_)
    for (const auto& [name, cell] : one.cells) names.insert(name);
  return {names.begin(), names.end()};
}

bool Frame::numeric(const std::string& column) const {
  return std::all_of(observations_.begin(), observations_.end(), [&](const Observation& one) {
    const Cell& cell = one.at(column);
    return cell.is_null() || cell.is_number();
  });
}

template <class Keep>
void Frame::keep(const std::string& reason, const Keep& wanted) {
  const std::size_t before = size();
  std::erase_if(observations_, [&](const Observation& one) { return !wanted(one); });
  if (size() < before) left_out_.push_back({before - size(), reason});
}

void Frame::select(const std::vector<std::string>& columns) {
  const auto told = [&] {
    std::vector<std::string> all;
    for (const LeftOut& one : left_out_) all.push_back(fmt::format("{}: {}", one.rows, one.reason));
    return all.empty() ? std::string("the files have no rows") : join(all, ", ");
  };
  if (observations_.empty())
    throw NothingToModel(
        fmt::format("no row can be used ({}). Name results with rows that are ok.", told()));
  const std::vector<std::string> known = this->columns();
  for (const std::string& column : columns)
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw InputError(unknown_name("column", column, known));
  for (const std::string& column : columns)
    keep(fmt::format("no value of {}", column),
         [&](const Observation& one) { return !one.at(column).is_null(); });
  if (observations_.empty())
    throw NothingToModel(fmt::format(
        "no row has all columns of the formula (rows left out: {}). Leave a column out.", told()));
  // A number that its source calls incomparable never stands in one model with those of others.
  const bool any_free = std::any_of(observations_.begin(), observations_.end(),
                                    [](const Observation& one) { return one.scope.empty(); });
  const std::string scope = any_free ? "" : observations_.front().scope;
  std::set<std::string> reasons;
  for (const Observation& one : observations_)
    if (one.scope != scope) reasons.insert(one.incomparable);
  keep("may not be set beside the others: " +
           join(std::vector<std::string>(reasons.begin(), reasons.end()), "; "),
       [&](const Observation& one) { return one.scope == scope; });
}

std::vector<std::size_t> groups_of(const Frame& frame, const std::string& by) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> groups;
  for (const Observation& one : frame.observations())
    groups.push_back(
        known.emplace(by == "launch" ? one.launch : level_name(one.at(by)), known.size())
            .first->second);
  return groups;
}

}  // namespace assay
