#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <iostream>

#include "analysis/compare/comparable.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/guard.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/allocator.hpp"
#include "core/program/options.hpp"
#include "core/program/suite.hpp"
#include "core/result/outputs.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "runner/ensemble/ensemble_run.hpp"
#include "runner/launch/processes.hpp"
#include "runner/launch/programs.hpp"
#include "runner/launch/site.hpp"
#include "runner/nodes/per_node.hpp"
#include "runner/run/findings.hpp"
#include "runner/run/run.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Creates results/<suite>-<time>; if several jobs start in one second, each gets its own folder.
/// Adds the created folders to plan.new_folders.
fs::path fresh_folder(RunPlan& plan) {
  const fs::path results = fs::absolute("results");
  std::error_code error;
  if (fs::create_directories(results, error)) plan.new_folders.push_back(results);
  const std::string name = fmt::format("{}-{:%Y%m%dT%H%M%SZ}", plain_name(plan.suite_name),
                                       fmt::gmtime(std::time(nullptr)));
  constexpr int most = 10000;
  for (int number = 1; number <= most && !error; ++number) {
    const fs::path folder = results / (number == 1 ? name : fmt::format("{}-{}", name, number));
    // For an existing folder this returns false: the folder belongs to another job, possibly on
    // another node.
    if (!fs::create_directory(folder, error)) continue;
    plan.new_folders.insert(plan.new_folders.begin(), folder);
    return folder;
  }
  throw InputError(fmt::format("cannot make {} ({}). Choose another folder with --out.",
                               (results / name).string(),
                               error ? error.message() : "too many folders have this name"));
}

fs::path choose_folder(const Arguments& arguments, RunPlan& plan) {
  if (const auto out = read_value(arguments, "out")) return fs::absolute(*out).lexically_normal();
  return fresh_folder(plan);
}

RunTiming read_timing(const Arguments& arguments) {
  RunTiming timing;
  timing.max_time = read_seconds(arguments, "max-time");
  timing.burn = read_seconds(arguments, "burn");
  if (const auto text = read_value(arguments, "precision-target"))
    timing.precision_target = precision_target_number("--precision-target", *text);
  if (const auto count = read_whole_number(arguments, "min-samples", 1, most_samples))
    timing.min_samples = static_cast<std::int64_t>(*count);
  if (const auto text = read_value(arguments, "reference-budget"))
    timing.reference_budget = reference_budget_number("--reference-budget", *text);
  return timing;
}

/// The ids in a file that `assay compare --flagged` has written.
std::vector<std::string> ids_in(const std::string& file) {
  const json list = read_json(file);
  const bool good =
      list.is_array() && !list.empty() &&
      std::all_of(list.begin(), list.end(), [](const json& id) { return id.is_string(); });
  if (!good)
    throw InputError(
        file +
        ": is not a list of ids (a JSON array with at least one text was expected). `assay "
        "compare --flagged` writes one.");
  return list;
}

/// The command line takes precedence over the suite.
void set_launcher(RunPlan& plan, const Arguments& arguments) {
  if (const auto launcher = read_value(arguments, "launcher");
      launcher && Launcher::is_name(*launcher))
    Launcher::load(*launcher).expect_allocation();
  set_processes(plan,
                make_processes(process_request(arguments), plan.suite_settings.launch.shapes));
}

/// Reports flags without effect here, because they are probably slips.
void refuse_useless(const Arguments& arguments) {
  if (arguments.contains("allow-mixed") && !arguments.contains("resume"))
    throw InputError(
        "--allow-mixed cannot be used without --resume (a new run has nothing to mix with). Leave "
        "it "
        "out.");
  if (arguments.contains("resume") && !arguments.contains("out"))
    throw InputError(
        "--resume needs --out (the folder of the run that is to be resumed). Give both.");
  if (arguments.contains("list"))
    refuse_flags(arguments,
                 {"dry-run", "out", "launches", "against", "guard", "resume", "allow-mixed",
                  "max-time", "precision-target", "min-samples", "burn", "reference-budget",
                  "no-ceilings", "seed", "baseline", "quiet", "verbose"},
                 "--list", "nothing is run");
  if (arguments.contains("dry-run"))
    refuse_flags(arguments, {"quiet", "verbose"}, "--dry-run", "nothing is run");
  const auto launcher = read_value(arguments, "launcher");
  if (launcher && arguments.contains("ranks") && names_ranks(make_launcher_words(*launcher)))
    throw InputError(fmt::format(
        "--ranks and --launcher \"{}\" both give the number of processes. Leave one of them out.",
        *launcher));
}

RunPlan make_plan(const Arguments& arguments) {
  RunPlan plan = plan_of_suite(*read_value(arguments, "SUITE"));
  for (const auto& [flag, values] : arguments) plan.given_flags.insert(flag);
  set_launcher(plan, arguments);
  plan.campaign.launches = static_cast<int>(
      read_whole_number(arguments, "launches", 1, 10000).value_or(plan.campaign.launches));
  plan.campaign.seed = read_whole_number(arguments, "seed", 0, UINT64_MAX).value_or(1);
  plan.timing = read_timing(arguments);
  plan.site = find_site(arguments);
  plan.scale = read_value(arguments, "scale").value_or("");
  if (arguments.contains("allocator"))
    plan.allocator = read_choice(arguments, "allocator", list_allocator_names());
  set_timing(plan, read_seconds(arguments, "timeout"));
  plan.filter = read_value(arguments, "filter").value_or("");
  if (const auto file = read_value(arguments, "cases")) plan.ids = ids_in(*file);
  if (arguments.contains("baseline")) plan.baselines = read_values(arguments, "baseline");
  plan.command = command_line("assay run", {"SUITE"}, arguments);
  if (arguments.contains("no-ceilings")) plan.ceilings = false;
  plan.joint = arguments.contains("joint");
  plan.resume = arguments.contains("resume");
  plan.allow_mixed = arguments.contains("allow-mixed");
  plan.campaign.talk = read_verbosity(arguments);
  if (const auto time = read_value(arguments, "walltime"))
    plan.campaign.deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(clock_time("--walltime", *time, 1));
  return plan;
}

/// The same run with the programs of another build or installation. Its folder is within that of
/// this run.
RunPlan against(const RunPlan& plan, const std::string& other) {
  RunPlan twin = plan;
  twin.programs = find_executable_folder(other);
  if (list_benchmark_names(twin.programs).empty())
    throw InputError(fmt::format(
        "--against {} is not a build of Assay ({}). Name the folder of a build or an installation, "
        "the one that holds bin/.",
        other,
        fs::exists(twin.programs)
            ? "no executable assay-<benchmark> is in " + twin.programs.string()
            : twin.programs.string() + " does not exist"));
  if (fs::exists(plan.programs) && fs::equivalent(twin.programs, plan.programs))
    throw InputError(fmt::format(
        "--against {} is this build itself. Name the build or the installation to compare with.",
        other));
  twin.campaign.label = "against ";
  return twin;
}

/// The command that decides between both builds, with fresh launches of the rows that it flags.
std::string comparison_command(const Arguments& arguments, const std::string& folder) {
  const auto launcher = read_value(arguments, "launcher");
  return fmt::format("assay compare {} {} --vary software --confirm {} --base-build {}{}",
                     shell_word(folder + "/against"), shell_word(folder),
                     shell_word(folder + "/fresh"),
                     shell_word(fs::absolute(*read_value(arguments, "against")).string()),
                     launcher ? " --launcher " + shell_word(*launcher) : "");
}

/// Prints the table of a finished run and its findings. Returns the exit code of all.
ExitCode tell(const std::vector<RunResult>& results, const RunPlan& plan,
              const Arguments& arguments) {
  const RunResult& own = results[0];
  const std::string folder = plan.campaign.folder.string();
  ExitCode code = print_result(own, plan.baselines, plan.site, folder);
  if (!plan.allow_mixed)
    for (const RunResult& result : results) {
      const Findings mixed = find_mixed(result);
      std::cout << mixed.text << std::flush;
      code = find_gravest(code, mixed.code);
    }
  if (results.size() > 1) {
    const Findings lost = find_lost(own, results[1], "the other build");
    std::cout << lost.text
              << fmt::format("against: {}/against/result.json\n{}compare: {}\n", folder,
                             describe_software(results[1], own),
                             comparison_command(arguments, folder))
              << std::flush;
    code = find_gravest({code, lost.code, exit_code(results[1].rows)});
  }
  if (std::ranges::none_of(own.rows, &Row::is_ok))
    std::cerr << "assay run: no row was measured (the reasons are in the table).\n";
  return code;
}

/// --list and --dry-run.
int preview(const Arguments& arguments, std::vector<RunPlan> plans) {
  try {
    if (arguments.contains("list")) {
      std::cout << list_cases(std::move(plans[0]));
      return static_cast<int>(ExitCode::ok);
    }
    if (const auto out = read_value(arguments, "out"))
      for (RunPlan& plan : plans)
        plan.campaign.folder = fs::absolute(*out) / (plan.campaign.label.empty() ? "" : "against");
    std::cout << dry_run(std::move(plans));
    return static_cast<int>(ExitCode::ok);
  } catch (const Interruption&) {
    return static_cast<int>(ExitCode::failed);
  }
}

/// The flags, completed by those of --site that concern processes.
Arguments at_site(const Arguments& arguments) {
  const auto name = read_value(arguments, "site");
  if (!name) return arguments;
  return Site::load(*name).apply(arguments, read_suite_settings(arguments).launch.several);
}

/// One run. `node`: the node that runs it, if several runs are concurrent.
int run(const Arguments& arguments, const std::string& node = "") {
  refuse_useless(arguments);
  std::vector<RunPlan> plans{make_plan(arguments)};
  if (!node.empty()) plans[0].campaign.label = node + " ";
  if (const auto other = read_value(arguments, "against"))
    plans.push_back(against(plans[0], *other));
  for (const RunPlan& plan : plans)
    check_suite_names(plan.suite, plan.campaign.suite_file,
                      plan.programs);  // before any other check
  if (arguments.contains("list") || arguments.contains("dry-run"))
    return preview(arguments, std::move(plans));
  plans[0].campaign.folder = choose_folder(arguments, plans[0]);
  if (plans.size() > 1) plans[1].campaign.folder = plans[0].campaign.folder / "against";
  const auto history = read_value(arguments, "guard");
  if (history) check_guard(*history);
  ExitCode code = ExitCode::ok;
  try {
    const std::vector<RunResult> results = run_side_by_side(plans);
    code = tell(results, plans[0], arguments);
    if (history) code = find_gravest(code, guard(*history, results[0], plans[0]));
  } catch (const UnfinishedRun& end) {
    std::cerr << "assay run: " << end.what() << "\n";
    return static_cast<int>(ExitCode::failed);
  }
  write_end(plans[0].campaign.folder, describe_end(static_cast<int>(code)));
  return static_cast<int>(code);
}

/// One run, or several concurrent ones.
int run_or_many(const Arguments& line) {
  if (line.contains("as-node"))
    return run_as_node(line, run);  // on its own node, without a
                                    // launcher
  if (line.contains("as-member"))
    return run_as_member(line, [](const Arguments& member) { return run(member); });
  const Arguments arguments = at_site(line);
  refuse_beside_many(arguments);
  refuse_beside_ensemble(arguments);
  if (const auto out = read_value(arguments, "out"); out && !arguments.contains("list"))
    check_run_folder(*out, list_names_in(arguments));
  if (arguments.contains("ensemble")) return run_ensemble(arguments);
  if (!arguments.contains("per-node") && !arguments.contains("pairs")) return run(arguments);
  try {
    if (!arguments.contains("pairs")) return run_on_every_node(arguments);
    return arguments.contains("per-node") ? run_on_nodes_and_pairs(arguments)
                                          : run_on_pairs(arguments);
  } catch (const Interruption& signal) {
    const bool begun =
        arguments.contains("local-results") || any_run_below(*read_value(arguments, "out"));
    std::cerr << fmt::format("assay run: stopped by {}. {}\n", strsignal(signal.signal),
                             begun ? "Finished rows are kept; continue with the same command and "
                                     "--resume."
                                   : "No row was finished.");
    return static_cast<int>(ExitCode::failed);
  }
}

std::vector<Flag> case_flags() {
  return {
      {"SUITE", "suite file, or the name of a suite (see `assay list suites`)", "SUITE", "", true},
      {"--filter", "run only cases whose id or name matches", "REGEX"},
      {"--cases", "run only the ids in this file, which `assay compare --flagged` writes", "FILE"},
      {"--scale",
       "use this part of the rows of every table, on machines with less memory; such results are "
       "not comparable with others",
       "1/N", "the suite's"},
      {.name = "--allocator",
       .help = "allocator of host memory of every case, preloaded into its process; another "
               "one is never measured in its place",
       .value = "NAME",
       .otherwise = "the suite's",
       .choices = list_allocator_names()},
      {"--list", "print the ids of the cases, run nothing"},
      {"--dry-run", "print cases, launches, commands and an estimated time, run nothing"}};
}

std::vector<Flag> node_flags() {
  return {
      {"--per-node", "run the suite on every node at once, each into DIR/<node>"},
      {"--pairs",
       "run the suite on all pairs of nodes, each into DIR/<node>+<node>, and name the pairs that "
       "are slower than the typical pair by more than the suite's tolerance, and the nodes whose "
       "best pair is (docs/sites.md defines typical); with --per-node: then, the cases of several "
       "ranks"},
      {"--local-results",
       "with --per-node, where nodes share no file system: run into this folder of each "
       "node, and collect into --out over MPI",
       "LOCAL"},
      {"--joint", "(used by --per-node with --pairs) run only the cases of several ranks"},
      {"--as-node", "(used by --per-node) run into DIR/<host name>, without the launcher"}};
}

std::vector<Flag> ensemble_flags() {
  return {{"--ensemble",
           "train N members of the suite's network, with values from its search space, as many at "
           "once as fit the nodes, and rank them",
           "N"},
          {.name = "--search",
           .help = "random: all members have the whole budget of epochs; halving: the better part "
                   "continues with more epochs",
           .value = "NAME",
           .otherwise = "random",
           .choices = {"random", "halving"}},
          {.name = "--factor",
           .help = "with halving: one in N members continues, with N times the epochs",
           .value = "N",
           .otherwise = "2",
           .choices = {"2", "3"}},
          {"--as-member", "(used by --ensemble) cores of this member, without the launcher",
           "SLOT/THREADS"}};
}

std::vector<Flag> launch_flags() {
  return {{"--launches", "process launches of each case, interleaved", "N", "the suite's, or 1"},
          {"--walltime",
           "time for the whole run: minutes, MM:SS or HH:MM:SS. The most informative cases come "
           "first, and what is left out is listed",
           "TIME", "no limit"},
          {"--timeout", "kill a case that takes longer than this", "S",
           "the suite's, else max(60, 20 x max-time)"},
          {"--against",
           "interleave with another build or installation; its result is in DIR/against", "BUILD"}};
}

}  // namespace

Command run_command() {
  return {
      "run",
      "Run a suite: each benchmark in its own process, supervised and resumable.",
      group_flags(
          {{"Cases", case_flags()},
           {"Processes", process_flags()},
           {"Nodes", node_flags()},
           {"Ensembles", ensemble_flags()},
           {"Launches", launch_flags()},
           {"Timing",
            {{"--max-time", max_time_help, "S", "the suite's"},
             {"--precision-target", precision_target_help, "X", "the suite's"},
             {"--min-samples", min_samples_help, "N", std::to_string(TimingOptions{}.min_samples)},
             {"--burn", burn_help, "S", "none"},
             {"--seed", "seed of orders and data", "N", "1"},
             {"--no-ceilings", "skip the machine ceilings"}}},
           {"Checks",
            {{"--reference-budget", reference_budget_help, "N",
              fmt::format("{}", RunRequest{}.reference_budget)},
             {"--guard",
              "judge the run against the history in this folder; suspects are measured again at "
              "once, with the promoted build and with this one",
              "HISTORY"}}},
           {output_group,
            {{"--out", "folder for journal, logs and result.json", "DIR", "results/<suite>-<time>"},
             {"--resume",
              "resume the run in --out: run the cases without a row, and again those that failed "
              "or timed out"},
             {"--allow-mixed", "with --resume: accept other hardware or software"},
             {"--baseline", "compare with these systems", "NAME,...", "the suite's", false, true},
             quiet_flag(),
             verbose_flag()}}}),
      &run_or_many,
      {{"assay run smoke --dry-run", "shows what the suite smoke would run, and how long it takes"},
       {"assay run smoke --out results/today", "runs it; results/today/result.json is the result"},
       {"assay run smoke --out results/launches --launches 5 --filter conv/forward",
        "runs 5 launches of some cases, for `assay compare`"},
       {"assay run ensemble-mlp --ensemble 8 --out results/ensemble",
        "trains 8 members of a search space, two at once on two cores, and ranks them"}},
      "0 all rows ok, or unsupported where that is allowed, 2 bad usage or input, 3 incorrect "
      "numerics, 4 slower than allowed (--guard, --pairs, --site), 6 rows are missing, a number "
      "was lost, launches of a case had different software, or nothing was measured, 7 a row "
      "failed or timed out, 8 a suspect could not be confirmed (--guard), 9 a training missed its "
      "target"};
}

}  // namespace assay
