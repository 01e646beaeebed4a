#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iostream>
#include <regex>
#include <system_error>

#include "analysis/campaign.hpp"
#include "analysis/child.hpp"
#include "analysis/commands.hpp"
#include "analysis/interrupted.hpp"
#include "analysis/programs.hpp"
#include "analysis/result_file.hpp"
#include "analysis/table.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
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
  std::optional<double> max_time;
  std::vector<std::string> baselines;
  std::string filter;
};

std::string hash_of(const json& document) {
  // The canonical text: spaces and the order of keys do not make another suite.
  return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::url())(document.dump()));
}

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

void set_max_time(RunPlan& plan, std::optional<double> seconds, const Given& given) {
  plan.max_time = seconds;
  plan.campaign.max_time.clear();
  if (seconds) plan.campaign.max_time = {"--max-time", fmt::format("{}", *seconds)};
  const json timing = plan.suite.value("timing", json::object());
  const double max_time = seconds.value_or(timing.value("max_time", TimingOptions{}.max_time));
  // Set-up and verification take their time too: a slow case must not be taken for a hanging one.
  plan.campaign.timeout = std::chrono::duration<double>(
      seconds_of(given, "timeout").value_or(std::max(60.0, 20 * max_time)));
}

RunPlan plan_of(const Given& given) {
  RunPlan plan;
  plan.campaign.suite_file = fs::absolute(find_suite(*value_of(given, "SUITE"))).lexically_normal();
  plan.suite = read_suite(plan.campaign.suite_file);
  plan.suite_name = plan.suite.value("name", plan.campaign.suite_file.stem().string());
  plan.suite_hash = hash_of(plan.suite);
  plan.campaign.folder = folder_of(given, plan.suite_name);
  plan.campaign.launcher = words(value_of(given, "launcher").value_or(""));
  plan.campaign.launches = static_cast<int>(whole_of(given, "launches", 1, 10000).value_or(1));
  plan.campaign.seed = whole_of(given, "seed", 0, UINT64_MAX).value_or(1);
  set_max_time(plan, seconds_of(given, "max-time"), given);
  plan.filter = value_of(given, "filter").value_or("");
  plan.baselines = values_of(given, "baseline");
  if (plan.baselines.empty())
    for (const json& name : plan.suite.value("baseline", json::array()))
      plan.baselines.push_back(name);
  return plan;
}

/// The cases of one benchmark, as its executable tells them.
std::vector<Case> listed_cases(const RunPlan& plan, const std::string& name,
                               const fs::path& executable) {
  std::vector<std::string> command = plan.campaign.launcher;
  for (const std::string& word :
       {executable.string(), std::string("--suite"), plan.campaign.suite_file.string(),
        std::string("--list"), std::string("--json")})
    command.push_back(word);
  Ended ended;
  std::string said;
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(plan.campaign.timeout);
  const std::string text =
      output_of(command, plan.campaign.folder / "log" / ("list-" + name), timeout, ended, said);
  if (ended.signalled || ended.code != 0) {
    const std::string message =
        fmt::format("assay-{} cannot list its cases ({}): {}", name, ended.text(), said);
    if (!ended.signalled && ended.code == static_cast<int>(ExitCode::usage))
      throw InputError(message);
    throw CaseError(message);
  }
  std::vector<Case> cases;
  try {
    for (const json& one : json::parse(text))
      cases.push_back(
          {one.at("id"), one.at("settings"), one.at("names"), one.value("required", false)});
  } catch (const json::exception& error) {
    throw CaseError(
        fmt::format("assay-{} lists its cases in a way that cannot be read ({}). Are `assay` and "
                    "assay-{} of one build?",
                    name, error.what(), name));
  }
  return cases;
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
    for (Case& one : listed_cases(plan, name, benchmark.executable)) {
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
  return {{"suite_hash", plan.suite_hash},
          {"seed", plan.campaign.seed},
          {"max_time", plan.max_time ? json(*plan.max_time) : json()},
          {"launcher", plan.campaign.launcher}};
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
    if (!given.contains("max-time") && event.contains("max_time") && event["max_time"].is_number())
      set_max_time(plan, event["max_time"].get<double>(), given);
    return;
  }
}

/// Announces this run, or that an interrupted one is taken up.
void announce(const RunPlan& plan, const Given& given, bool resumed) {
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
                {"baselines", plan.baselines},
                {"environment", capture_environment()}});
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

int run(const Given& given) {
  RunPlan plan = plan_of(given);
  for (const std::string& name : suite_benchmarks(plan.suite))
    executable_of(name);  // unknown names before anything else
  make_folder(plan.campaign.folder);
  const std::vector<json> events = earlier_events(plan.campaign.folder, given.contains("resume"));
  recall(plan, given, events);
  Finished finished = finished_of(plan, events);
  std::vector<Baseline> baselines;
  for (const std::string& name : plan.baselines) baselines.push_back(Baseline::load(name));
  prepare_parent();
  try {
    std::vector<PlannedBenchmark> benchmarks = planned_benchmarks(plan);
    announce(plan, given, names_a_run(events));
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
           {"--max-time", "longest timed region of a case in seconds", "S", "the suite's"},
           {"--timeout", "a case open longer than this is killed", "S", "max(60, 20 x max-time)"},
           {"--filter", "only cases whose id or name has a match", "REGEX", ""},
           {"--seed", "seed of orders and data", "N", "1"},
           {"--launcher", "words put before every executable", "\"mpirun -n 2\"", ""},
           {"--baseline", "compare with these systems", "NAME,...", "the suite's", false, true}},
          &run};
}

}  // namespace assay
