#include "runner/run/run_plan.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "analysis/pattern.hpp"
#include "analysis/text_table.hpp"
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
#include "runner/launch/programs.hpp"
#include "runner/run/benchmark_processes.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool is_selected(const Case& benchmark_case, const TextPattern& filter) {
  if (filter.in(benchmark_case.id)) return true;
  return std::any_of(benchmark_case.names.begin(), benchmark_case.names.end(),
                     [&](const std::string& name) { return filter.in(name); });
}

/// "max_time" as a flag.
std::string name_flag(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return field;
}

RunHeader make_plan_header(const RunPlan& plan) {
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
    // A mere number of ranks is in the launcher's words.
    if (plan.processes.size() > 1 || !group.shape.is_number_alone())
      settings.shapes.push_back(group.shape);
  if (plan.site) {
    settings.site = plan.site->name;
    settings.system = plan.site->system;
  }
  RunHeader header;
  header.suite = plan.suite_name;
  header.command = plan.command;
  header.seed = plan.campaign.seed;
  header.statistics = statistics_version;
  header.launches = plan.campaign.launches;
  header.scale = plan.scale;
  header.allocator = plan.allocator;
  header.timing = plan.timing;
  header.settings = std::move(settings);
  return header;
}

void read_into(RunPlan& plan, const fs::path& suite_file) {
  plan.campaign.suite_file = fs::absolute(suite_file).lexically_normal();
  plan.suite = read_suite(plan.campaign.suite_file);
  plan.suite_settings = suite_settings(plan.suite);
  plan.suite_name = plan.suite_settings.name;
  plan.suite_hash = content_hash("suite", plan.suite);
  plan.campaign.suite_hash = plan.suite_hash;
}

/// The flags that give a benchmark the scale and the allocator of its cases.
std::vector<std::string> words_of_cases(const RunPlan& plan) {
  std::vector<std::string> words;
  if (!plan.scale.empty()) words.insert(words.end(), {"--scale", plan.scale});
  if (!plan.allocator.empty()) words.insert(words.end(), {"--allocator", plan.allocator});
  return words;
}

/// Adopts from a header how the run was made, but not which programs were executed: a file never
/// chooses these.
void adopt(RunPlan& plan, const RunHeader& header) {
  const auto open = [&](const std::string& flag) { return !plan.given_flags.contains(flag); };
  const RunSettings settings = header.settings.value_or(RunSettings{});
  if (open("seed")) plan.campaign.seed = header.seed.value_or(plan.campaign.seed);
  if (open("launches")) plan.campaign.launches = header.launches.value_or(plan.campaign.launches);
  if (open("filter")) plan.filter = settings.filter;
  if (open("scale")) plan.scale = header.scale;
  if (open("allocator")) plan.allocator = header.allocator;
  if (open("cases")) plan.ids = settings.cases;
  if (open("no-ceilings")) plan.ceilings = settings.ceilings;
  if (open("baseline")) plan.baselines = settings.baselines;
  const auto take = [&](const char* name, auto& option, const auto& before) {
    if (before && open(name_flag(name))) option = before;
  };
  visit_options(plan.timing, take, header.timing);
  set_timing(plan, open("timeout") && settings.timeout > 0 ? settings.timeout
                                                           : plan.campaign.timeout.count());
}

/// InputError if the file names other programs or another launcher than the caller has chosen,
/// because anybody may have written the file.
void expect_as_chosen(const RunHeader& run, const RunPlan& plan, const AllowedPrograms& chosen) {
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
  const SuiteSettings& settings = plan.suite_settings;
  plan.baselines = settings.baselines;
  plan.ceilings = settings.ceilings;
  plan.campaign.launches = settings.launches.value_or(plan.campaign.launches);
  set_processes(plan, make_processes({}, settings.launch.shapes));
  plan.programs = executable_folder();
  return plan;
}

RunPlan plan_of_result(const RunResult& result, const AllowedPrograms& chosen) {
  const RunHeader& run = result.run;
  const RunSettings settings = run.settings.value_or(RunSettings{});
  for (const auto& [field, text] : {std::pair{"suite_file", settings.suite_file},
                                    {"programs", settings.programs},
                                    {"suite_hash", settings.suite_hash}})
    if (text.empty())
      throw InputError(
          fmt::format("the result {} cannot be run again from here (its run does not contain {}). "
                      "Make it with `assay run` of this version.",
                      json(run.id).dump(), field));
  RunPlan plan;
  read_into(plan, settings.suite_file);
  if (plan.suite_hash != settings.suite_hash)
    throw InputError(fmt::format(
        "{} has changed since the run {} (its hash differs). Restore it, or run both sides again.",
        plan.campaign.suite_file.string(), json(run.id).dump()));
  plan.programs =
      chosen.programs.empty() ? executable_folder() : find_executable_folder(chosen.programs);
  // Shapes are numbers, which the file may choose; the caller chooses the command.
  const std::vector<ProcessShape> shapes =
      settings.shapes.empty() ? plan.suite_settings.launch.shapes
                              : json(settings.shapes).get<std::vector<ProcessShape>>();
  set_processes(plan, make_processes({.launcher = chosen.launcher}, shapes));
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
  visit_options(plan.timing, [&](const char* name, const auto& option) {
    if (!option) return;
    plan.campaign.handed_on.push_back("--" + name_flag(name));
    plan.campaign.handed_on.push_back(fmt::format("{}", *option));
  });
  for (std::string& word : words_of_cases(plan)) plan.campaign.handed_on.push_back(std::move(word));
  const SuiteSettings::Timing& timing = plan.suite_settings.timing;
  const double max_time = plan.timing.max_time.value_or(timing.max_time);
  // Set-up and verification take time, too, and a slow case must not be taken for a hanging one.
  const double burn = plan.timing.burn.value_or(0);
  const double enough = timing.timeout.value_or(std::max(60.0, 20 * max_time)) + 2 * burn;
  plan.campaign.timeout = std::chrono::duration<double>(timeout.value_or(enough));
}

RunHeader begin_header(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks) {
  RunHeader header = make_plan_header(plan);
  header.id = fmt::format("{}-{:%Y%m%dT%H%M%SZ}-{}", plan.suite_name,
                          fmt::gmtime(std::time(nullptr)), getpid());
  header.started = format_utc_now();
  for (const PlannedBenchmark& benchmark : benchmarks)
    header.case_hashes[benchmark.place()] = benchmark.cases_hash;
  // The settings contain the flags beside the suite. The suite's own timing is recorded as well,
  // because it also determines the rows.
  if (const auto timing = plan.suite.find("timing"); timing != plan.suite.end())
    timing->get_to(header.suite_timing.emplace());
  return header;
}

void recall(RunPlan& plan, const RunRecord& earlier) {
  if (earlier.header) adopt(plan, *earlier.header);
}

FinishedCases check_finished(const RunPlan& plan, const RunRecord& earlier) {
  FinishedCases finished;
  std::vector<Row> rows;
  for (const RecordedRow& recorded : earlier.rows) rows.push_back(recorded.row);
  const std::set<std::string> lost = list_lost_ids(rows);
  const auto is_repeated = [&](const Row& row) {
    return plan.resume &&
           (may_be_repeated(row) || (row.status == "unsupported" && lost.contains(row.id)));
  };
  for (const Row& row : rows)
    if (!is_repeated(row)) finished.insert({row.launch, row.id});
  if (!earlier.header) return finished;
  const json before = list_counting_settings(*earlier.header),
             now = list_counting_settings(make_plan_header(plan));
  for (const auto& [name, value] : now.items())
    if (const json was = before.value(name, json()); was != value)
      throw InputError(fmt::format(
          "cannot resume {} ({} was {} there, now it is {}). Use the same, or another --out.",
          plan.campaign.folder.string(), name == "suite_hash" ? "the suite's content" : name,
          was.dump(), value.dump()));
  return finished;
}

void check_cases(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks,
                 const RunRecord& earlier) {
  if (plan.allow_mixed || !earlier.header) return;  // another machine may have other cases ("all")
  const auto& before = earlier.header->case_hashes;
  for (const PlannedBenchmark& benchmark : benchmarks)
    if (const auto hash = before.find(benchmark.place());
        hash != before.end() && hash->second != benchmark.cases_hash)
      throw InputError(fmt::format(
          "cannot resume {} (the cases of benchmark {} have changed: a problem list of the suite "
          "was edited, other backends are installed, or this process may use another number of "
          "processors, now {}). Restore it, or choose another --out.",
          plan.campaign.folder.string(), benchmark.name, processors()));
}

namespace {

/// The first three differences between two trees of an environment. `name`: that of both trees.
std::string tree_differences(const std::string& name, const json& before, const json& now) {
  std::vector<std::string> differences;
  for (const json& step : json::diff(before, now)) {
    if (differences.size() == 3) break;
    const json::json_pointer at(step["path"].get<std::string>());
    const auto describe_value = [&](const json& side) {
      return side.contains(at) ? side.at(at).dump() : std::string("absent");
    };
    differences.push_back(fmt::format("{}{} was {} there, now it is {}", name, at.to_string(),
                                      describe_value(before), describe_value(now)));
  }
  return join(differences, "; ");
}

}  // namespace

void check_machine(const RunPlan& plan, const ResultEnvironment& environment,
                   const RunRecord& earlier) {
  if (plan.allow_mixed || !earlier.header) return;
  const ResultEnvironment& before = earlier.environment;
  const auto expect_equal = [&](const std::string& part, const std::string& hash_before,
                                const std::string& hash_now, const json& tree_before,
                                const json& tree_now) {
    if (hash_before != hash_now)
      throw InputError(fmt::format(
          "cannot resume {} (its {} differs: {}). Resume on the same machine and "
          "software, choose another --out, or give --allow-mixed.",
          plan.campaign.folder.string(), part, tree_differences(part, tree_before, tree_now)));
  };
  expect_equal("hardware", before.hashes.hardware, environment.hashes.hardware, before.hardware,
               environment.hardware);
  expect_equal("software", before.hashes.software, environment.hashes.software, before.software,
               environment.software);
}

namespace {

/// True if several ranks run the case together. The settings of other cases have no such number, or
/// 1.
bool is_joint(const Case& benchmark_case) {
  for (const char* name : {"ranks", "nodes"})
    if (const auto count = benchmark_case.settings.find(name);
        count != benchmark_case.settings.end() && count->second != "1")
      return true;
  return false;
}

}  // namespace

std::vector<PlannedBenchmark> plan_benchmarks(const RunPlan& plan) {
  const TextPattern filter(plan.filter, fmt::format("--filter '{}'", plan.filter));
  const std::set<std::string> chosen(plan.ids.begin(), plan.ids.end());
  std::vector<PlannedBenchmark> benchmarks;
  std::vector<std::string> all;
  std::set<std::string> planned;  // to plan a case of one process only once, because it is the same
                                  // in every shape
  for (const Processes& group : plan.processes)
    for (const std::string& name : suite_benchmarks(plan.suite)) {
      PlannedBenchmark benchmark{.name = name,
                                 .executable = find_executable(name, plan.programs),
                                 .cases = {},
                                 .launcher = group.words,
                                 .shape = plan.processes.size() > 1 ? group.shape.name() : ""};
      Listing listing = read_listing(benchmark.executable, plan.campaign.suite_file, group.words,
                                     plan.campaign.folder / "log" / ("list-" + benchmark.place()),
                                     plan.campaign.timeout, plan.suite_hash, words_of_cases(plan));
      benchmark.cases_hash = listing.hash;
      benchmark.plugins = std::move(listing.plugins);
      for (Case& benchmark_case : listing.cases) {
        all.push_back(benchmark_case.id);
        if ((!plan.joint || is_joint(benchmark_case)) &&
            (plan.filter.empty() || is_selected(benchmark_case, filter)) &&
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
      throw InputError(explain_unknown_name("case of suite " + plan.suite_name, id, all));
  if (benchmarks.empty())
    throw InputError(plan.filter.empty()
                         ? fmt::format("suite {} has no cases{}.", plan.suite_name,
                                       plan.joint ? " of several ranks" : "")
                         : fmt::format("--filter '{}' matches none of {} of suite {}. "
                                       "See `assay run {} --list`.",
                                       plan.filter, format_count(all.size(), "case"),
                                       plan.suite_name, plan.campaign.suite_file.string()));
  return benchmarks;
}

}  // namespace assay
