#include "analysis/compare/side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/series.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/result/result_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The id without the values of these parameters: "*" in their places. One that is written with its
/// name is left out, as ids do at its usual value.
std::string key_of(const json& row, const std::vector<std::string>& varied) {
  const std::string id = row.at("id");
  if (varied.empty()) return id;
  std::vector<std::string> parts = split(id, '/');
  for (const std::string& name : varied) {
    const std::string value = text_of(row.at("parameters"), name);
    if (std::erase(parts, name + "=" + value) > 0) continue;
    if (const auto found = std::find(parts.begin(), parts.end(), value); found != parts.end())
      *found = "*";
  }
  return join(parts, "/");
}

}  // namespace

std::vector<std::string> varied_parameters(const std::string& vary) {
  if (vary == "precision") return {"precision"};
  if (vary == "backend") return {"backend", "algorithm"};
  return {};
}

bool keep_for_comparison(json& row, std::string_view, const json&) {
  static const std::set<std::string> kept{
      "id",        "benchmark", "published",    "environment", "launch",  "attempt",
      "status",    "reason",    "required",     "names",       "problem", "parameters",
      "tolerance", "executed",  "incomparable", "time_s",      "rates",   "device_state"};
  const bool published = row.value("published", false);
  keep_members(row, [](const std::string& name) { return kept.contains(name); });
  keep_members(row["problem"],
               [](const std::string& name) { return name == "descriptor" || name == "flops"; });
  keep_members(row["executed"], [](const std::string& name) {
    return name == "algorithm" || name == "implementation" || name == "compute";
  });
  keep_median_and_marks(row);
  keep_members(row["rates"], [&](const std::string&) { return published; });
  return true;
}

Side::Side(std::string name, std::vector<NamedResult> results, const std::string& vary)
    : name_(std::move(name)), results_(std::move(results)) {
  const std::vector<std::string> varied = varied_parameters(vary);
  struct Found {
    LaunchGroups groups;
    std::map<std::string, std::pair<const json*, const json*>> environments;  // by their key
    std::set<std::string> ids;
  };
  std::map<std::string, Found> all;
  std::int64_t first_launch = 0;
  for (NamedResult& named : results_) {
    const json& environments = named.result.at("environments");
    std::int64_t last_launch = 0;
    measured_.push_back(false);
    for (json& row : named.result.at("rows")) {
      Found& found = all[key_of(row, varied)];
      const std::string environment = environment_key(named.result, row);
      // Each run counts its launches from zero; a side numbers the launches of all its runs.
      const std::int64_t launch = first_launch + row.at("launch").get<std::int64_t>();
      row["launch"] = launch;
      last_launch = std::max(last_launch, launch);
      found.ids.insert(row.at("id").get<std::string>());
      found.environments.try_emplace(environment, &named.result,
                                     &environments.at(row.at("environment").get<std::size_t>()));
      if (!row.value("published", false)) measured_.back() = true;
      found.groups.add(std::move(row), environment);
    }
    named.result.erase("rows");
    first_launch = last_launch + 1;
  }
  for (auto& [key, found] : all) {
    std::vector<Launches> launches = found.groups.take();
    SideRow& row = rows_[key];
    std::tie(row.result, row.environment) = found.environments.at(launches.front().environment);
    row.environments = launches.size();
    row.variants = found.ids.size();
    // An error in any environment counts for the row.
    std::size_t chosen = 0;
    for (const char* error : {"target missed", "timeout", "failed", "incorrect"})
      for (std::size_t i = 0; i < launches.size(); ++i)
        if (launches[i].status == error) chosen = i;
    row.launches = std::move(launches[chosen]);
  }
}

json Side::described() const {
  json files = json::array();
  std::set<std::string> systems;
  for (const NamedResult& named : results_) {
    files.push_back(named.name.empty() ? name_ : named.name);
    systems.insert(named.result.at("system").at("name").get<std::string>());
  }
  const std::vector<std::string> names(systems.begin(), systems.end());
  return {{"name", name_}, {"system", join(names, ", ")}, {"files", files}};
}

void Mismatches::note(const std::string& field, const json& base, const json& updated,
                      std::size_t rows) {
  const auto shown = [](const json& value) {
    return value.is_discarded() ? json("absent") : value;
  };
  const json left = shown(base), right = shown(updated);
  for (json& known : all_)
    if (known["field"] == field && known["base"] == left && known["new"] == right) {
      known["rows"] = known["rows"].get<std::size_t>() + rows;
      return;
    }
  all_.push_back({{"field", field}, {"base", left}, {"new", right}, {"rows", rows}});
}

/// Machines that are meant to differ do so with OS, kernel, C library and drivers. What is built
/// and chosen for a run (Assay, its flags, libraries, settings) must still be equal. Another
/// backend brings other libraries, and may be another program: only what both sides have must be
/// equal.
void Mismatches::add_part(const std::string& field, const json& base, const json& updated,
                          const std::string& vary, std::size_t rows) {
  if (base == updated) return;
  if (vary == "backend" && (base.is_discarded() || updated.is_discarded())) return;
  if (vary == "hardware") {
    const std::string name = field.substr(field.rfind('/') + 1);
    for (const char* system_part : {"os", "kernel", "architecture", "container", "libc", "driver"})
      if (name == system_part) return;
  }
  if (!base.is_object() || !updated.is_object()) {
    note(field, base, updated, rows);
    return;
  }
  static const json absent(json::value_t::discarded);
  std::set<std::string> names;
  for (const json* side : {&base, &updated})
    for (const auto& [name, unused] : side->items()) names.insert(name);
  for (const std::string& name : names) {
    const auto value = [&](const json& side) -> const json& {
      const auto found = side.find(name);
      return found == side.end() ? absent : *found;
    };
    add_part(field + "/" + name, value(base), value(updated), vary, rows);
  }
}

void Mismatches::add(const Side& base, const Side& updated, const std::string& vary,
                     const std::string& prefix) {
  // All runs must have the settings of the first one that tells them.
  std::vector<std::string> settings = {
      "seed",        "launcher",         "shapes",    "max_time", "precision_target",
      "min_samples", "reference_budget", "statistics"};
  // Two precisions or backends may be in two suites; their cases are still paired by key.
  if (varied_parameters(vary).empty()) settings.insert(settings.begin(), {"suite", "suite_hash"});
  const auto setting = [](const json& result, const std::string& name) {
    const json& run = result.at("run");
    if (name == "statistics") return json(statistics_of(run));
    return run.contains(name) ? run.at(name) : json();
  };
  std::map<std::string, json> first;
  for (const Side* side : {&base, &updated})
    for (std::size_t i = 0; i < side->results().size(); ++i) {
      const NamedResult& named = side->results()[i];
      if (!side->has_measured(i)) continue;
      for (const std::string& name : settings) {
        const json is = setting(named.result, name);
        if (vary == "backend" && is.is_null())
          continue;  // another program, which has no such thing
        const json& was = first.emplace(name, is).first->second;
        if (was != is) note(prefix + "run/" + name, was, is, 0);
      }
    }

  // The processes of a run load different libraries, so environments are compared row by row; equal
  // pairs of environments are compared once.
  std::map<std::pair<const json*, const json*>, std::size_t> pairs;
  for (const auto& [key, row] : base.rows()) {
    const auto other = updated.rows().find(key);
    if (other == updated.rows().end() || !row.measured() || !other->second.measured()) continue;
    ++pairs[{row.environment, other->second.environment}];
  }
  for (const auto& [pair, rows] : pairs)
    for (const std::string part : {"hardware", "software"}) {
      if (vary == part) continue;
      json was = pair.first->at(part), is = pair.second->at(part);
      // Peaks come from a table in Assay. Another table does not mean another machine.
      for (json* side : {&was, &is}) side->erase("peaks");
      // Another machine has its own builds of everything.
      if (vary == "hardware") was.erase("binaries");
      keep_common_fields(was, is);
      const bool unknown = pair.first->at("hashes").at(part).is_null() ||
                           pair.second->at("hashes").at(part).is_null();
      if (unknown && (vary != "backend" || part != "software"))
        note(prefix + part, "unknown", "unknown", rows);
      add_part(prefix + part, was, is, part == "hardware" ? "nothing" : vary, rows);
    }
}

json Mismatches::described() const { return all_; }

}  // namespace assay
