#include "core/result/run_header.hpp"

#include <algorithm>
#include <array>

#include "core/base/or_null.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Moves a field out of `fields` into `value`, which does not change if the field is absent or
/// null.
template <class Value>
void take(json& fields, const char* name, Value& value) {
  const auto entry = fields.find(name);
  if (entry == fields.end()) return;
  if (!entry->is_null()) value = entry->get<Value>();
  fields.erase(entry);
}
template <class Value>
void take(json& fields, const char* name, std::optional<Value>& value) {
  Value own{};
  const bool there = fields.contains(name) && !fields[name].is_null();
  take(fields, name, own);
  if (there) value = std::move(own);
}

void write_settings(json& all, const RunSettings& settings) {
  for (const auto& [name, text] : {std::pair{"suite_file", settings.suite_file},
                                   {"suite_hash", settings.suite_hash},
                                   {"programs", settings.programs},
                                   {"site", settings.site},
                                   {"system", settings.system}})
    if (!text.empty()) all[name] = text;
  all.update({{"launcher", settings.launcher},
              {"filter", settings.filter},
              {"cases", settings.cases},
              {"baselines", settings.baselines},
              {"ceilings", settings.ceilings},
              {"timeout", settings.timeout}});
  if (!settings.shapes.empty()) all["shapes"] = settings.shapes;
}

/// `all`: options that were not given become null.
void write_timing(json& fields, const RunTiming& timing, bool all) {
  visit_options(timing, [&](const std::string& name, const auto& option) {
    if (option || (all && name != "burn")) fields[name] = or_null(option);  // few runs have one
  });
}

RunTiming take_timing(json& fields) {
  RunTiming timing;
  visit_options(timing, [&](const char* name, auto& option) { take(fields, name, option); });
  return timing;
}

RunSettings take_settings(json& fields) {
  RunSettings settings;
  take(fields, "suite_file", settings.suite_file);
  take(fields, "suite_hash", settings.suite_hash);
  take(fields, "programs", settings.programs);
  take(fields, "launcher", settings.launcher);
  take(fields, "filter", settings.filter);
  take(fields, "cases", settings.cases);
  take(fields, "baselines", settings.baselines);
  take(fields, "ceilings", settings.ceilings);
  take(fields, "timeout", settings.timeout);
  take(fields, "shapes", settings.shapes);
  take(fields, "site", settings.site);
  take(fields, "system", settings.system);
  return settings;
}

}  // namespace

void to_json(json& all, const RunTiming& timing) {
  all = timing.rest;
  write_timing(all, timing, false);
}
void from_json(const json& all, RunTiming& timing) {
  json fields = all;
  timing = take_timing(fields);
  timing.rest = std::move(fields);
}

RunTiming RunHeader::whole_timing() const {
  json fields = suite_timing ? json(*suite_timing) : json::object();
  write_timing(fields, timing, false);
  return fields.get<RunTiming>();
}

void to_json(json& all, const RunHeader& header) {
  all = header.rest;
  all.update({{"id", header.id},
              {"suite", or_null(header.suite)},
              {"command", or_null(header.command)},
              {"seed", or_null(header.seed)},
              {"started", or_null(header.started)},
              {"finished", or_null(header.finished)},
              {"statistics", header.statistics},
              {"scale", or_null(header.scale)},
              {"allocator", or_null(header.allocator)}});
  if (header.launches) all["launches"] = *header.launches;
  if (header.settings) write_settings(all, *header.settings);
  write_timing(all, header.timing, header.settings.has_value());
  if (header.suite_timing) all["suite_timing"] = *header.suite_timing;
  if (!header.case_hashes.empty()) all["case_hashes"] = header.case_hashes;
  if (header.resumed) all["resumed"] = *header.resumed;
  if (!header.left_out.empty()) all["left_out"] = header.left_out;
  if (!header.brackets.empty()) all["bracket"] = header.brackets;
  if (header.missing_nodes) all["missing_nodes"] = *header.missing_nodes;
}

void from_json(const json& all, RunHeader& header) {
  header = {};
  json fields = all;
  for (const char* of_event : {"event", "environment"}) fields.erase(of_event);
  take(fields, "id", header.id);
  take(fields, "suite", header.suite);
  take(fields, "command", header.command);
  take(fields, "seed", header.seed);
  take(fields, "started", header.started);
  take(fields, "finished", header.finished);
  take(fields, "statistics", header.statistics);
  take(fields, "launches", header.launches);
  take(fields, "scale", header.scale);
  take(fields, "allocator", header.allocator);
  header.timing = take_timing(fields);
  take(fields, "suite_timing", header.suite_timing);
  take(fields, "case_hashes", header.case_hashes);
  take(fields, "resumed", header.resumed);
  take(fields, "left_out", header.left_out);
  take(fields, "bracket", header.brackets);
  take(fields, "missing_nodes", header.missing_nodes);
  constexpr std::array of_settings{"suite_file", "suite_hash", "programs", "launcher", "ceilings"};
  if (std::ranges::any_of(of_settings, [&](const char* name) { return fields.contains(name); }))
    header.settings = take_settings(fields);
  header.rest = std::move(fields);
}

json settings_that_count(const RunHeader& header) {
  constexpr std::array names{"suite_hash",  "statistics",       "seed",
                             "scale",       "allocator",        "launcher",
                             "shapes",      "max_time",         "precision_target",
                             "min_samples", "reference_budget", "burn"};
  const json all = header;
  json counting = json::object();
  for (const char* name : names)
    if (all.contains(name)) counting[name] = all[name];
  return counting;
}

}  // namespace assay
