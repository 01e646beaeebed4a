#include "runner/run/run_plan.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "analysis/pattern.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/paths.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "runner/launch/preload.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/result_file.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// "max-time" as the journal names it.
std::string field_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

bool wanted(const Case& benchmark_case, const Pattern& filter) {
  if (filter.in(benchmark_case.id)) return true;
  return std::any_of(benchmark_case.names.begin(), benchmark_case.names.end(),
                     [&](const std::string& name) { return filter.in(name); });
}

json settings_of(const RunPlan& plan) {
  json settings = {{"suite_hash", plan.suite_hash},
                   {"statistics", statistics_version},
                   {"seed", plan.campaign.seed},
                   {"scale", plan.scale.empty() ? json() : json(plan.scale)},
                   {"launcher", plan.campaign.launcher}};
  if (!plan.allocator.empty()) settings["allocator"] = plan.allocator;
  for (const Processes& group : plan.processes)
    // One number of ranks alone stands in the launcher's words.
    if (plan.processes.size() > 1 || !group.shape.is_number_alone())
      settings["shapes"].push_back(shape_document(group.shape));
  for (const char* flag : timing_flags) {
    const auto given = plan.timing.find(flag);
    settings[field_of(flag)] = given == plan.timing.end() ? json() : given->second;
  }
  return settings;
}

void read_into(RunPlan& plan, const fs::path& suite_file) {
  plan.campaign.suite_file = fs::absolute(suite_file).lexically_normal();
  plan.suite = read_suite(plan.campaign.suite_file);
  plan.suite_name = plan.suite.value("name", plan.campaign.suite_file.stem().string());
  plan.suite_hash = content_hash("suite", plan.suite);
  plan.campaign.suite_hash = plan.suite_hash;
}

/// What tells a benchmark the scale and the allocator of its cases.
std::vector<std::string> words_of_cases(const RunPlan& plan) {
  std::vector<std::string> words;
  if (!plan.scale.empty()) words.insert(words.end(), {"--scale", plan.scale});
  if (!plan.allocator.empty()) words.insert(words.end(), {"--allocator", plan.allocator});
  return words;
}

/// What an announcement, or the "run" of a result made from it, says of how it was run; but for
/// what it says was executed: a file never chooses that.
void adopt(RunPlan& plan, const json& event) {
  const auto open = [&](const char* flag) { return !plan.given.contains(flag); };
  if (open("seed")) plan.campaign.seed = event.value("seed", plan.campaign.seed);
  if (open("launches")) plan.campaign.launches = event.value("launches", plan.campaign.launches);
  if (open("filter")) plan.filter = event.value("filter", plan.filter);
  if (const json before = event.value("scale", json()); open("scale") && before.is_string())
    plan.scale = before;
  if (const json before = event.value("allocator", json()); open("allocator") && before.is_string())
    plan.allocator = before;
  if (open("cases")) plan.ids = event.value("cases", plan.ids);
  if (open("no-ceilings")) plan.ceilings = event.value("ceilings", plan.ceilings);
  if (open("baseline")) plan.baselines = event.value("baselines", plan.baselines);
  for (const char* flag : timing_flags)
    if (const json before = event.value(field_of(flag), json()); open(flag) && before.is_number())
      plan.timing[flag] = before;
  std::optional<double> timeout;
  if (const json before = event.value("timeout", json()); before.is_number())
    timeout = before.get<double>();
  if (!open("timeout")) timeout = plan.campaign.timeout.count();
  set_timing(plan, timeout);
}

/// What the file says was executed, if the caller has not chosen the same: the file may be
/// anybody's.
void expect_as_chosen(const json& run, const RunPlan& plan, const Chosen& chosen) {
  const fs::path programs = run["programs"].get<std::string>();
  std::error_code missing;
  if (programs != plan.programs && !fs::equivalent(programs, plan.programs, missing))
    throw InputError(fmt::format(
        "the run {} used the programs in {}, according to its file, not those in {} (programs that "
        "a file names are never executed). If you trust them, {}.",
        run.at("id").dump(), run["programs"].dump(), plan.programs.string(), chosen.advice));
  const json launcher = run.value("launcher", json::array());
  if (launcher != json(plan.campaign.launcher))
    throw InputError(fmt::format(
        "the run {} used the launcher {}, according to its file, not {} (a launcher that a file "
        "names is never executed). If you trust it, name it with --launcher.",
        run.at("id").dump(), launcher.dump(), json(plan.campaign.launcher).dump()));
}

}  // namespace

RunPlan plan_of_suite(const std::string& suite) {
  RunPlan plan;
  read_into(plan, find_suite(suite));
  for (const json& name : plan.suite.value("baseline", json::array()))
    plan.baselines.push_back(name);
  plan.ceilings = plan.suite.value("ceilings", true);
  plan.campaign.launches = plan.suite.value("launches", plan.campaign.launches);
  set_processes(plan, processes_of({}, shapes_of(plan.suite.value("launch", json()))));
  plan.programs = executable_folder();
  return plan;
}

RunPlan plan_of_result(const json& result, const Chosen& chosen) {
  const json& run = result.at("run");
  for (const char* field : {"suite_file", "programs", "suite_hash"})
    if (!run.contains(field) || !run[field].is_string())
      throw InputError(
          fmt::format("the result {} cannot be run again from here (its run does not contain {}). "
                      "Make it with `assay run` of this version.",
                      run.at("id").dump(), field));
  RunPlan plan;
  read_into(plan, run["suite_file"].get<std::string>());
  if (plan.suite_hash != run["suite_hash"])
    throw InputError(fmt::format(
        "{} has changed since the run {} (its hash differs). Restore it, or run both sides again.",
        plan.campaign.suite_file.string(), run.at("id").dump()));
  plan.programs =
      chosen.programs.empty() ? executable_folder() : executable_folder_of(chosen.programs);
  // Shapes are numbers, which the file may say; the command is the caller's.
  const json launch =
      run.contains("shapes") ? run.at("shapes") : plan.suite.value("launch", json());
  set_processes(plan, processes_of({.launcher = chosen.launcher}, shapes_of(launch)));
  expect_as_chosen(run, plan, chosen);
  adopt(plan, run);
  return plan;
}

void set_processes(RunPlan& plan, std::vector<Processes> processes) {
  plan.processes = std::move(processes);
  plan.campaign.launcher = plan.processes.front().words;
}

void set_timing(RunPlan& plan, std::optional<double> timeout) {
  plan.campaign.handed_on.clear();
  for (const auto& [flag, value] : plan.timing) {
    plan.campaign.handed_on.push_back("--" + flag);
    plan.campaign.handed_on.push_back(value.dump());
  }
  for (std::string& word : words_of_cases(plan)) plan.campaign.handed_on.push_back(std::move(word));
  const json timing = plan.suite.value("timing", json::object());
  double max_time = timing.value("max_time", TimingOptions{}.max_time);
  if (plan.timing.contains("max-time")) max_time = plan.timing["max-time"];
  // Set-up and verification take their time too: a slow case must not be taken for a hanging one.
  const double enough = timing.value("timeout", std::max(60.0, 20 * max_time));
  plan.campaign.timeout = std::chrono::duration<double>(timeout.value_or(enough));
}

json announcement(const RunPlan& plan, bool resumed, const json& environment,
                  const std::vector<PlannedBenchmark>& benchmarks) {
  json event = settings_of(plan);
  for (const PlannedBenchmark& benchmark : benchmarks)
    event["case_hashes"][benchmark.place()] = benchmark.cases_hash;
  if (plan.site.is_object())
    event.update({{"site", plan.site.at("name")}, {"system", plan.site.at("system")}});
  event.update({{"event", resumed ? "resume" : "run"},
                {"id", fmt::format("{}-{:%Y%m%dT%H%M%SZ}-{}", plan.suite_name,
                                   fmt::gmtime(std::time(nullptr)), getpid())},
                {"suite", plan.suite_name},
                {"suite_file", plan.campaign.suite_file.string()},
                {"programs", plan.programs.string()},
                {"command", plan.command},
                {"started", utc_now()},
                {"launches", plan.campaign.launches},
                {"filter", plan.filter},
                {"cases", plan.ids},
                {"timeout", plan.campaign.timeout.count()},
                {"baselines", plan.baselines},
                {"ceilings", plan.ceilings},
                {"row_form", row_form_version},
                {"environment", environment}});
  return event;
}

void recall(RunPlan& plan, const std::vector<json>& events) {
  const auto run = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event.value("event", "") == "run";
  });
  if (run != events.end()) adopt(plan, *run);
}

Finished finished_of(const RunPlan& plan, const std::vector<json>& events) {
  Finished finished;
  const json wanted = settings_of(plan);
  json rows = json::array();
  for (const json& event : events)
    if (event.value("event", "") == "row") rows.push_back(event.at("row"));
  const std::set<std::string> lost = lost_ids(rows);
  const auto is_repeated = [&](const json& row) {
    return plan.resume && (may_be_repeated(row) || (row.value("status", "") == "unsupported" &&
                                                    lost.contains(row.value("id", ""))));
  };
  for (const json& event : events) {
    const std::string kind = event.value("event", "");
    if (kind == "row" && !is_repeated(event.at("row")))
      finished.insert({event.at("row").value("launch", 0), event.at("row").value("id", "")});
    if (kind != "run") continue;
    for (const auto& [name, value] : wanted.items())
      if (const json before =
              name == "statistics" ? json(statistics_of(event)) : event.value(name, json());
          before != value)
        throw InputError(fmt::format(
            "cannot resume {} ({} was {} there, now it is {}). Use the same, or another --out.",
            plan.campaign.folder.string(), name == "suite_hash" ? "the suite's content" : name,
            before.dump(), value.dump()));
  }
  return finished;
}

void check_cases(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks,
                 const std::vector<json>& events) {
  if (plan.allow_mixed) return;  // another machine may have other cases ("all")
  for (const json& event : events) {
    if (event.value("event", "") != "run" || !event.contains("case_hashes")) continue;
    const json& before = event.at("case_hashes");
    for (const PlannedBenchmark& benchmark : benchmarks)
      if (before.value(benchmark.place(), benchmark.cases_hash) != benchmark.cases_hash)
        throw InputError(fmt::format(
            "cannot resume {} (the cases of benchmark {} have changed: a problem list of the suite "
            "was edited, other backends are installed, or this process may use another number of "
            "processors, now {}). Restore it, or choose another --out.",
            plan.campaign.folder.string(), benchmark.name, processors()));
  }
}

void check_machine(const RunPlan& plan, const json& environment, const std::vector<json>& events) {
  if (plan.allow_mixed) return;
  const auto run = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event.value("event", "") == "run" && event.contains("environment");
  });
  if (run == events.end()) return;
  const json& before = run->at("environment");
  for (const char* part : {"hardware", "software"}) {
    if (before.at("hashes").at(part) == environment.at("hashes").at(part)) continue;
    std::string what;
    int told = 0;
    for (const json& step : json::diff(before.at(part), environment.at(part))) {
      if (++told > 3) break;
      const json::json_pointer at(step.at("path").get<std::string>());
      const auto shown = [&](const json& side) {
        return side.contains(at) ? side.at(at).dump() : std::string("absent");
      };
      what +=
          fmt::format("{}{} was {} there, now it is {}", what.empty() ? "" : "; ",
                      part + at.to_string(), shown(before.at(part)), shown(environment.at(part)));
    }
    throw InputError(
        fmt::format("cannot resume {} (its {} differs: {}). Resume on the same machine and "
                    "software, choose another --out, or give --allow-mixed.",
                    plan.campaign.folder.string(), part, what));
  }
}

std::vector<PlannedBenchmark> planned_benchmarks(const RunPlan& plan) {
  const Pattern filter(plan.filter, fmt::format("--filter '{}'", plan.filter));
  const std::set<std::string> chosen(plan.ids.begin(), plan.ids.end());
  std::vector<PlannedBenchmark> benchmarks;
  std::vector<std::string> all;
  std::set<std::string> planned;  // a case of one process is the same in every shape
  for (const Processes& group : plan.processes)
    for (const std::string& name : suite_benchmarks(plan.suite)) {
      PlannedBenchmark benchmark{.name = name,
                                 .executable = executable_of(name, plan.programs),
                                 .cases = {},
                                 .launcher = group.words,
                                 .shape = plan.processes.size() > 1 ? group.shape.name() : ""};
      Listing listing = listed_cases(benchmark.executable, plan.campaign.suite_file, group.words,
                                     plan.campaign.folder / "log" / ("list-" + benchmark.place()),
                                     plan.campaign.timeout, plan.suite_hash, words_of_cases(plan));
      benchmark.cases_hash = listing.hash;
      benchmark.plugins = std::move(listing.plugins);
      for (Case& benchmark_case : listing.cases) {
        all.push_back(benchmark_case.id);
        if ((plan.filter.empty() || wanted(benchmark_case, filter)) &&
            (chosen.empty() || chosen.contains(benchmark_case.id)) &&
            planned.insert(benchmark_case.id).second)
          benchmark.cases.push_back(std::move(benchmark_case));
      }
      for (PlannedBenchmark& part :
           by_process(std::move(benchmark), plan.campaign.folder / "log" / "preload"))
        benchmarks.push_back(std::move(part));
    }
  for (const std::string& id : plan.ids)
    if (std::find(all.begin(), all.end(), id) == all.end())
      throw InputError(unknown_name("case of suite " + plan.suite_name, id, all));
  if (benchmarks.empty())
    throw InputError(plan.filter.empty()
                         ? fmt::format("suite {} has no cases.", plan.suite_name)
                         : fmt::format("--filter '{}' matches none of the {} cases of suite {}. "
                                       "See `assay run {} --list`.",
                                       plan.filter, all.size(), plan.suite_name,
                                       plan.campaign.suite_file.string()));
  return benchmarks;
}

}  // namespace assay
