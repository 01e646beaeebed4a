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
#include "core/result/run_header.hpp"
#include "runner/launch/preload.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/result_file.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool wanted(const Case& benchmark_case, const Pattern& filter) {
  if (filter.in(benchmark_case.id)) return true;
  return std::any_of(benchmark_case.names.begin(), benchmark_case.names.end(),
                     [&](const std::string& name) { return filter.in(name); });
}

/// "max-time" as files name it.
std::string field_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

RunHeader header_of(const RunPlan& plan) {
  RunSettings settings{.suite_file = plan.campaign.suite_file.string(),
                       .suite_hash = plan.suite_hash,
                       .programs = plan.programs.string(),
                       .launcher = plan.campaign.launcher,
                       .filter = plan.filter,
                       .cases = plan.ids,
                       .baselines = plan.baselines,
                       .ceilings = plan.ceilings,
                       .timeout = plan.campaign.timeout.count()};
  for (const Processes& group : plan.processes)
    // One number of ranks alone stands in the launcher's words.
    if (plan.processes.size() > 1 || !group.shape.is_number_alone())
      settings.shapes.push_back(shape_document(group.shape));
  if (plan.site.is_object()) {
    settings.site = plan.site.at("name");
    settings.system = plan.site.at("system");
  }
  for (const auto& [flag, value] : plan.timing) settings.timing[field_of(flag)] = value;
  RunHeader header;
  header.suite = plan.suite_name;
  header.command = plan.command;
  header.seed = plan.campaign.seed;
  header.statistics = statistics_version;
  header.launches = plan.campaign.launches;
  header.scale = plan.scale;
  header.allocator = plan.allocator;
  header.settings = std::move(settings);
  return header;
}

/// The header in the event with which the journal of a run begins; null without one.
const json* begun_with(const std::vector<json>& events) {
  const auto run = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event.value("event", "") == "run";
  });
  return run == events.end() ? nullptr : &*run;
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

/// Adopts what a header says of how the run was made, but not what was executed: a file never
/// chooses that.
void adopt(RunPlan& plan, const RunHeader& header) {
  const auto open = [&](const char* flag) { return !plan.given.contains(flag); };
  const RunSettings settings = header.settings.value_or(RunSettings{});
  if (open("seed")) plan.campaign.seed = header.seed.value_or(plan.campaign.seed);
  if (open("launches")) plan.campaign.launches = header.launches.value_or(plan.campaign.launches);
  if (open("filter")) plan.filter = settings.filter;
  if (open("scale")) plan.scale = header.scale;
  if (open("allocator")) plan.allocator = header.allocator;
  if (open("cases")) plan.ids = settings.cases;
  if (open("no-ceilings")) plan.ceilings = settings.ceilings;
  if (open("baseline")) plan.baselines = settings.baselines;
  for (const char* flag : timing_flags)
    if (const auto before = settings.timing.find(field_of(flag));
        open(flag) && before != settings.timing.end())
      plan.timing[flag] = before->second;
  set_timing(plan, open("timeout") && settings.timeout > 0 ? settings.timeout
                                                           : plan.campaign.timeout.count());
}

/// What the file says was executed, if the caller has not chosen the same: the file may be
/// anybody's.
void expect_as_chosen(const RunHeader& run, const RunPlan& plan, const Chosen& chosen) {
  const fs::path programs = run.settings->programs;
  std::error_code missing;
  if (programs != plan.programs && !fs::equivalent(programs, plan.programs, missing))
    throw InputError(fmt::format(
        "the run {} used the programs in {}, according to its file, not those in {} (programs that "
        "a file names are never executed). If you trust them, {}.",
        json(run.id).dump(), json(run.settings->programs).dump(), plan.programs.string(),
        chosen.advice));
  if (run.settings->launcher != plan.campaign.launcher)
    throw InputError(fmt::format(
        "the run {} used the launcher {}, according to its file, not {} (a launcher that a file "
        "names is never executed). If you trust it, name it with --launcher.",
        json(run.id).dump(), json(run.settings->launcher).dump(),
        json(plan.campaign.launcher).dump()));
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
  for (const char* field : {"suite_file", "programs", "suite_hash"})
    if (const json& run = result.at("run"); !run.contains(field) || !run[field].is_string())
      throw InputError(
          fmt::format("the result {} cannot be run again from here (its run does not contain {}). "
                      "Make it with `assay run` of this version.",
                      run.at("id").dump(), field));
  const RunHeader run = result.at("run");
  RunPlan plan;
  read_into(plan, run.settings->suite_file);
  if (plan.suite_hash != run.settings->suite_hash)
    throw InputError(fmt::format(
        "{} has changed since the run {} (its hash differs). Restore it, or run both sides again.",
        plan.campaign.suite_file.string(), json(run.id).dump()));
  plan.programs =
      chosen.programs.empty() ? executable_folder() : executable_folder_of(chosen.programs);
  // Shapes are numbers, which the file may say; the command is the caller's.
  const json launch = run.settings->shapes.empty() ? plan.suite.value("launch", json())
                                                   : json(run.settings->shapes);
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
  RunHeader header = header_of(plan);
  header.id = fmt::format("{}-{:%Y%m%dT%H%M%SZ}-{}", plan.suite_name,
                          fmt::gmtime(std::time(nullptr)), getpid());
  header.started = utc_now();
  for (const PlannedBenchmark& benchmark : benchmarks)
    header.case_hashes[benchmark.place()] = benchmark.cases_hash;
  json event = header;
  event.update({{"event", resumed ? "resume" : "run"}, {"environment", environment}});
  return event;
}

void recall(RunPlan& plan, const std::vector<json>& events) {
  if (const json* run = begun_with(events)) adopt(plan, *run);
}

Finished finished_of(const RunPlan& plan, const std::vector<json>& events) {
  Finished finished;
  json rows = json::array();
  for (const json& event : events)
    if (event.value("event", "") == "row") rows.push_back(event.at("row"));
  const std::set<std::string> lost = lost_ids(rows);
  const auto is_repeated = [&](const json& row) {
    return plan.resume && (may_be_repeated(row) || (row.value("status", "") == "unsupported" &&
                                                    lost.contains(row.value("id", ""))));
  };
  for (const json& row : rows)
    if (!is_repeated(row)) finished.insert({row.value("launch", 0), row.value("id", "")});
  const json* run = begun_with(events);
  if (run == nullptr) return finished;
  const json before = settings_that_count(*run), now = settings_that_count(header_of(plan));
  for (const auto& [name, value] : now.items())
    if (const json was = before.value(name, json()); was != value)
      throw InputError(fmt::format(
          "cannot resume {} ({} was {} there, now it is {}). Use the same, or another --out.",
          plan.campaign.folder.string(), name == "suite_hash" ? "the suite's content" : name,
          was.dump(), value.dump()));
  return finished;
}

void check_cases(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks,
                 const std::vector<json>& events) {
  const json* run = begun_with(events);
  if (plan.allow_mixed || run == nullptr) return;  // another machine may have other cases ("all")
  const RunHeader before = *run;
  for (const PlannedBenchmark& benchmark : benchmarks)
    if (const auto hash = before.case_hashes.find(benchmark.place());
        hash != before.case_hashes.end() && hash->second != benchmark.cases_hash)
      throw InputError(fmt::format(
          "cannot resume {} (the cases of benchmark {} have changed: a problem list of the suite "
          "was edited, other backends are installed, or this process may use another number of "
          "processors, now {}). Restore it, or choose another --out.",
          plan.campaign.folder.string(), benchmark.name, processors()));
}

void check_machine(const RunPlan& plan, const json& environment, const std::vector<json>& events) {
  const json* run = begun_with(events);
  if (plan.allow_mixed || run == nullptr) return;
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
