#include "core/result/run_header.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

/// `all`: options that were not given become null.
static void visit_timing(SameAs<RunTiming> auto& timing, bool all, auto& fields) {
  visit_options(timing, [&](const std::string_view name, auto& option) {
    if (all && name != "burn")  // few runs have one
      fields.nullable(name.data(), option);
    else
      fields.optional(name.data(), option);
  });
}

static void visit_fields(SameAs<RunTiming> auto& timing, auto& fields) {
  visit_timing(timing, false, fields);
  fields.rest(timing.rest);
}

static void visit_settings(SameAs<RunSettings> auto& settings, auto& fields) {
  fields.always("launcher", settings.launcher, "filter", settings.filter, "cases", settings.cases,
                "baselines", settings.baselines, "ceilings", settings.ceilings, "timeout",
                settings.timeout);
  fields.optional("suite_file", settings.suite_file, "suite_hash", settings.suite_hash, "programs",
                  settings.programs, "site", settings.site, "system", settings.system, "shapes",
                  settings.shapes);
}

static void visit_fields(SameAs<RunHeader> auto& header, auto& fields) {
  fields.always("id", header.id, "statistics", header.statistics);
  fields.nullable("suite", header.suite, "command", header.command, "seed", header.seed, "started",
                  header.started, "finished", header.finished, "scale", header.scale, "allocator",
                  header.allocator);
  fields.optional("launches", header.launches, "suite_timing", header.suite_timing, "case_hashes",
                  header.case_hashes, "resumed", header.resumed, "left_out", header.left_out,
                  "bracket", header.brackets, "missing_nodes", header.missing_nodes);
  visit_timing(header.timing, header.settings.has_value(), fields);
  if (header.settings) visit_settings(*header.settings, fields);
  fields.rest(header.rest);
}

RunTiming RunHeader::whole_timing() const {
  RunTiming whole = suite_timing.value_or(RunTiming{});
  const auto prefer = [](const char*, auto& own, const auto& given) {
    if (given) own = given;
  };
  visit_options(whole, prefer, timing);
  return whole;
}

void to_json(json& all, const RunTiming& timing) { all = write_fields(timing); }
void from_json(const json& all, RunTiming& timing) {
  timing = {};
  read_fields(all, timing);
}
void to_json(json& all, const RunHeader& header) { all = write_fields(header); }
void from_json(const json& all, RunHeader& header) {
  header = {};
  constexpr std::array of_settings{"suite_file", "suite_hash", "programs", "launcher", "ceilings"};
  if (std::ranges::any_of(of_settings, [&](const char* name) { return all.contains(name); }))
    header.settings.emplace();
  read_fields(all, header);
  for (const char* of_event : {"event", "environment"}) header.rest.erase(of_event);
}

json list_counting_settings(const RunHeader& header) {
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
