#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <iostream>
#include <regex>
#include <system_error>

#include "analysis/commands.hpp"
#include "analysis/run/campaign.hpp"
#include "analysis/run/child.hpp"
#include "analysis/run/interrupted.hpp"
#include "analysis/run/programs.hpp"
#include "analysis/run/result_file.hpp"
#include "analysis/table/table.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/journal.hpp"
#include "core/numbers.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"
#include "core/suite.hpp"
#include "core/text.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Everything that decides what a run is. Recorded in the journal; a resumed run must be the same
/// run.
struct RunPlan {
  json suite;
  std::string suite_name, suite_hash;
  CampaignOptions campaign;
  /// What the command line sets of the timing, by flag without dashes; the rest is the suite's.
  std::map<std::string, json> timing;
  std::vector<std::string> baselines;
  std::string filter;
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  for (std::string& word : split(text, ' '))
    if (!word.empty()) all.push_back(std::move(word));
  return all;
}

fs::path folder_of(const Given& given, const std::string& suite_name) {
  if (const auto out = value_of(given, "out")) return fs::absolute(*out).lexically_normal();
  return fs::absolute(
      fmt::format("results/{}-{:%Y%m%dT%H%M%SZ}", suite_name, fmt::gmtime(std::time(nullptr))));
}

constexpr const char* timing_flags[] = {"max-time", "precision-target", "min-samples",
                                        "reference-budget"};

/// "max-time" as the journal names it.
std::string field_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::map<std::string, json> timing_of(const Given& given) {
  std::map<std::string, json> timing;
  if (const auto seconds = seconds_of(given, "max-time")) timing["max-time"] = *seconds;
  if (const auto text = value_of(given, "precision-target"))
    timing["precision-target"] = precision_target_number("--precision-target", *text);
  if (const auto count = whole_of(given, "min-samples", 1, most_samples))
    timing["min-samples"] = *count;
  if (const auto text = value_of(given, "reference-budget"))
    timing["reference-budget"] = reference_budget_number("--reference-budget", *text);
  return timing;
}

/// The time limit of a case, unless one is given, follows from the timed region.
void set_timing(RunPlan& plan, std::optional<double> timeout) {
  plan.campaign.handed_on.clear();
  for (const auto& [flag, value] : plan.timing) {
    plan.campaign.handed_on.push_back("--" + flag);
    plan.campaign.handed_on.push_back(value.dump());
  }
  double max_time =
      plan.suite.value("timing", json::object()).value("max_time", TimingOptions{}.max_time);
  if (plan.timing.contains("max-time")) max_time = plan.timing["max-time"];
  // Set-up and verification take their time too: a slow case must not be taken for a hanging one.
  plan.campaign.timeout =
      std::chrono::duration<double>(timeout.value_or(std::max(60.0, 20 * max_time)));
}

RunPlan plan_of(const Given& given) {
  RunPlan plan;
  plan.campaign.suite_file = fs::absolute(find_suite(*value_of(given, "SUITE"))).lexically_normal();
  plan.suite = read_suite(plan.campaign.suite_file);
  plan.suite_name = plan.suite.value("name", plan.campaign.suite_file.stem().string());
  plan.suite_hash = content_hash("suite", plan.suite);
  plan.campaign.folder = folder_of(given, plan.suite_name);
  plan.campaign.launcher = words(value_of(given, "launcher").value_or(""));
  plan.campaign.launches = static_cast<int>(whole_of(given, "launches", 1, 10000).value_or(1));
  plan.campaign.seed = whole_of(given, "seed", 0, UINT64_MAX).value_or(1);
  plan.timing = timing_of(given);
  set_timing(plan, seconds_of(given, "timeout"));
  plan.filter = value_of(given, "filter").value_or("");
  plan.baselines = values_of(given, "baseline");
  if (plan.baselines.empty())
    for (const json& name : plan.suite.value("baseline", json::array()))
      plan.baselines.push_back(name);
  return plan;
}

bool wanted(const Case& one, const std::regex& filter) {
  if (std::regex_search(one.id, filter)) return true;
  return std::any_of(one.names.begin(), one.names.end(),
                     [&](const std::string& name) { return std::regex_search(name, filter); });
}

std::vector<PlannedBenchmark> planned_benchmarks(const RunPlan& plan) {
  std::regex filter;
  try {
    filter = std::regex(plan.filter, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw InputError(
        fmt::format("--filter '{}' is no regular expression ({}). It searches ids and names, "
                    "ECMAScript syntax.",
                    plan.filter, error.what()));
  }
  std::vector<PlannedBenchmark> benchmarks;
  std::size_t all = 0;
  // Here `assay-stream`, once it exists, will bracket the rounds to give every row its ceiling
  // (docs/design.md): one more planned benchmark at both ends of a round. Until then rows have a
  // null ceiling with that reason.
  for (const std::string& name : suite_benchmarks(plan.suite)) {
    PlannedBenchmark benchmark{name, executable_of(name), {}};
    for (Case& one :
         listed_cases(name, plan.campaign.suite_file, plan.campaign.launcher,
                      plan.campaign.folder / "log" / ("list-" + name), plan.campaign.timeout)) {
      ++all;
      if (plan.filter.empty() || wanted(one, filter)) benchmark.cases.push_back(std::move(one));
    }
    if (!benchmark.cases.empty()) benchmarks.push_back(std::move(benchmark));
  }
  if (benchmarks.empty())
    throw InputError(plan.filter.empty()
                         ? fmt::format("suite {} has no cases.", plan.suite_name)
                         : fmt::format("--filter '{}' matches none of the {} cases of suite {}. "
                                       "See `assay-{} --suite {} --list`.",
                                       plan.filter, all, plan.suite_name,
                                       suite_benchmarks(plan.suite).front(),
                                       plan.campaign.suite_file.string()));
  return benchmarks;
}

/// One run at a time in a folder. Held until the process ends; file systems without locks are
/// trusted.
void lock(const fs::path& folder) {
  const int descriptor = open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(
        fmt::format("another `assay run` is at work in {}. Wait for it, or choose another --out.",
                    folder.string()));
}

json settings_of(const RunPlan& plan) {
  json settings = {{"suite_hash", plan.suite_hash},
                   {"seed", plan.campaign.seed},
                   {"launcher", plan.campaign.launcher}};
  for (const char* flag : timing_flags) {
    const auto given = plan.timing.find(flag);
    settings[field_of(flag)] = given == plan.timing.end() ? json() : given->second;
  }
  return settings;
}

/// What the journal says is done; refuses to go on with a run that was another one. InputError
/// names what differs.
Finished finished_of(const RunPlan& plan, const std::vector<json>& events) {
  Finished finished;
  const json wanted = settings_of(plan);
  for (const json& event : events) {
    const std::string kind = event.value("event", "");
    if (kind == "row")
      finished.insert({event.at("row").value("launch", 0), event.at("row").value("id", "")});
    if (kind != "run") continue;
    for (const auto& [name, value] : wanted.items())
      if (const json before = event.value(name, json()); before != value)
        throw InputError(fmt::format(
            "cannot resume {} ({} was {} there, now it is {}). Use the same, or another --out.",
            plan.campaign.folder.string(), name == "suite_hash" ? "the suite's content" : name,
            before.dump(), value.dump()));
  }
  return finished;
}

/// Rows of two machines, or of one before and after an update, make no one result: refuses unless
/// that is wanted. Parent is compared with parent, since a benchmark adds what its plugins load.
void check_machine(const RunPlan& plan, const json& environment, const std::vector<json>& events) {
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
    throw InputError(fmt::format(
        "cannot resume {} (its {} was another one: {}). Resume where it was begun, choose another "
        "--out, or say --allow-mixed.",
        plan.campaign.folder.string(), part, what));
  }
}

bool names_a_run(const std::vector<json>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const json& event) { return event.value("event", "") == "run"; });
}

std::string command_line(const Given& given) {
  std::string line = "assay run " + *value_of(given, "SUITE");
  for (const auto& [flag, values] : given)
    for (const std::string& value : values)
      if (flag != "SUITE") line += fmt::format(" --{}{}{}", flag, value.empty() ? "" : " ", value);
  return line;
}

/// The events of the run that --out holds already, which only --resume may continue.
std::vector<json> earlier_events(const fs::path& folder, bool resume) {
  const fs::path file = folder / "journal.jsonl";
  if (!fs::exists(file) || fs::file_size(file) == 0) return {};
  if (!resume)
    throw InputError(
        fmt::format("{} already holds a run. Continue it with --resume, or choose another --out.",
                    folder.string()));
  return read_journal(file);
}

/// What the command line leaves open is as it was in the run that is resumed.
void recall(RunPlan& plan, const Given& given, const std::vector<json>& events) {
  for (const json& event : events) {
    if (event.value("event", "") != "run") continue;
    if (!given.contains("seed")) plan.campaign.seed = event.value("seed", plan.campaign.seed);
    if (!given.contains("launches"))
      plan.campaign.launches = event.value("launches", plan.campaign.launches);
    if (!given.contains("filter")) plan.filter = event.value("filter", plan.filter);
    if (!given.contains("launcher"))
      plan.campaign.launcher = event.value("launcher", plan.campaign.launcher);
    if (!given.contains("baseline")) plan.baselines = event.value("baselines", plan.baselines);
    for (const char* flag : timing_flags)
      if (const json before = event.value(field_of(flag), json());
          !given.contains(flag) && before.is_number())
        plan.timing[flag] = before;
    std::optional<double> timeout = seconds_of(given, "timeout");
    if (const json before = event.value("timeout", json()); !timeout && before.is_number())
      timeout = before.get<double>();
    set_timing(plan, timeout);
    return;
  }
}

/// Announces this run, or that an interrupted one is taken up.
void announce(const RunPlan& plan, const Given& given, bool resumed, const json& environment) {
  json event = settings_of(plan);
  event.update({{"event", resumed ? "resume" : "run"},
                {"id", fmt::format("{}-{:%Y%m%dT%H%M%SZ}-{}", plan.suite_name,
                                   fmt::gmtime(std::time(nullptr)), getpid())},
                {"suite", plan.suite_name},
                {"suite_file", plan.campaign.suite_file.string()},
                {"command", command_line(given)},
                {"started", now()},
                {"launches", plan.campaign.launches},
                {"filter", plan.filter},
                {"timeout", plan.campaign.timeout.count()},
                {"baselines", plan.baselines},
                {"environment", environment}});
  Journal(plan.campaign.folder / "journal.jsonl").append(event);
}

int interrupted(const RunPlan& plan, const std::string& why) {
  std::cerr << fmt::format(
      "assay run: {}. What is finished is kept in {}. Continue with the same command and --out {} "
      "--resume.\n",
      why, (plan.campaign.folder / "journal.jsonl").string(), plan.campaign.folder.string());
  return static_cast<int>(ExitCode::failed);
}

void make_folder(const fs::path& folder) {
  check_writable(folder / "result.json");
  std::error_code error;
  fs::create_directories(folder / "log", error);
  if (error)
    throw InputError(fmt::format("cannot make {} ({}). Choose another folder with --out.",
                                 (folder / "log").string(), error.message()));
  lock(folder);
}

/// Removes what make_folder has made, for a run that is refused: the folder itself, and those above
/// it that were not there and hold nothing else.
void remove_made(const fs::path& folder, const std::vector<fs::path>& missing) {
  std::error_code stays;
  if (fs::exists(folder / "journal.jsonl", stays)) return;  // never what another run has written
  if (!missing.empty()) fs::remove_all(folder, stays);
  for (std::size_t i = 1; i < missing.size(); ++i) fs::remove(missing[i], stays);
}

/// `folder` and those above it that do not exist, the deepest first; empty if it exists.
std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  std::error_code unknown;
  for (; folder.has_relative_path() && !fs::exists(folder, unknown); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

int run(const Given& given) {
  RunPlan plan = plan_of(given);
  for (const std::string& name : suite_benchmarks(plan.suite))
    executable_of(name);  // unknown names before anything else
  std::vector<Baseline> baselines;
  const fs::path& folder = plan.campaign.folder;
  const std::vector<fs::path> missing = missing_folders(folder);
  make_folder(folder);
  prepare_parent();
  try {
    std::vector<PlannedBenchmark> benchmarks;
    Finished finished;
    try {
      const std::vector<json> events = earlier_events(folder, given.contains("resume"));
      recall(plan, given, events);
      finished = finished_of(plan, events);
      const json environment = capture_environment();
      if (!given.contains("allow-mixed")) check_machine(plan, environment, events);
      for (const std::string& name : plan.baselines) baselines.push_back(Baseline::load(name));
      benchmarks = planned_benchmarks(plan);
      announce(plan, given, names_a_run(events), environment);
    } catch (const InputError&) {
      remove_made(folder, missing);
      throw;
    }
    Campaign(plan.campaign, std::move(benchmarks), std::move(finished)).run();
  } catch (const Interrupted& signal) {
    return interrupted(plan, fmt::format("stopped by {}", strsignal(signal.signal)));
  } catch (const JournalLost& lost) {
    return interrupted(plan, fmt::format("a benchmark cannot write its rows ({})", lost.what()));
  } catch (const std::system_error& error) {
    return interrupted(plan, fmt::format("cannot go on ({})", error.what()));
  }
  const json result = write_result(plan.campaign.folder, baselines);
  std::cout << render_table({{"", result}}, {}, {})
            << "\nresult: " << (plan.campaign.folder / "result.json").string() << std::endl;
  return static_cast<int>(exit_code(result.at("rows")));
}

}  // namespace

Command run_command() {
  return {"run",
          "Run a suite: every benchmark in processes of its own, watched, resumable.",
          {{"SUITE", "suite file, or the name of one in suites/", "SUITE", "", true},
           {"--out", "folder for journal, logs and result.json", "DIR", "results/<suite>-<time>"},
           {"--launches", "process launches of each case, interleaved", "N", "1"},
           {"--resume", "go on with the run in --out: only what has no row yet", "", ""},
           {"--allow-mixed", "resume although hardware or software differ", "", ""},
           {"--max-time", max_time_help, "S", "the suite's"},
           {"--precision-target", precision_target_help, "X", "the suite's"},
           {"--min-samples", min_samples_help, "N", std::to_string(TimingOptions{}.min_samples)},
           {"--reference-budget", reference_budget_help, "N",
            fmt::format("{}", RunRequest{}.reference_budget)},
           {"--timeout", "a case open longer than this is killed", "S", "max(60, 20 x max-time)"},
           {"--filter", "only cases whose id or name has a match", "REGEX", ""},
           {"--seed", "seed of orders and data", "N", "1"},
           {"--launcher", "words put before every executable", "\"mpirun -n 2\"", ""},
           {"--baseline", "compare with these systems", "NAME,...", "the suite's", false, true}},
          &run};
}

}  // namespace assay
