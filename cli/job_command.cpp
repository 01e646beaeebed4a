#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "analysis/accept/pair_rows.hpp"
#include "analysis/gather/node_list.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/suite.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "runner/ensemble/ensemble_run.hpp"
#include "runner/job/job.hpp"
#include "runner/launch/processes.hpp"
#include "runner/launch/site.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/nodes/per_node.hpp"
#include "runner/run/findings.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

constexpr std::uint64_t minute = 60;

std::string set_up_lines(const Arguments& arguments) {
  const auto file = read_value(arguments, "setup");
  if (!file) return "";
  try {
    return read_text_file(*file, largest_hand_written);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--setup {}", error.what()));
  }
}

bool has(const std::vector<std::string>& words, const std::string& flag) {
  return std::find(words.begin(), words.end(), flag) != words.end();
}

/// The resources for all groups of the run. They are given completely, because a batch system
/// completes them by its own default, which may be a single process on each node.
ProcessShape shape_of_job(const std::vector<Processes>& groups, bool per_node) {
  ProcessShape job;
  job.nodes = 1;
  for (const Processes& group : groups) job.nodes = std::max(job.nodes, group.shape.nodes);
  if (per_node) return job;  // one process on each
  for (const auto& [shape, words] : groups) {
    const std::uint64_t ranks = shape.all_ranks();
    const std::uint64_t nodes = shape.nodes == 0 ? job.nodes : shape.nodes;
    job.ranks = std::max(job.ranks, ranks);
    job.ranks_per_node =
        std::max({job.ranks_per_node, shape.ranks_per_node, (ranks + nodes - 1) / nodes});
    job.threads = std::max(job.threads, shape.threads);
  }
  return job;
}

std::vector<std::string> words_of_flag_run(const Arguments& arguments) {
  return make_launcher_words(read_value(arguments, "run").value_or(""));
}

/// Parses the words of `assay run` as that command will, so that a slip does not show only after
/// hours in a queue.
void check_words(const std::vector<std::string>& words, const std::string& run_flag) {
  const std::vector<Command> commands = all_commands();
  const auto run_command =
      std::find_if(commands.begin(), commands.end(),
                   [](const Command& command) { return command.name == "run"; });
  std::vector<const char*> parts{"assay run"};
  for (std::size_t i = 2; i < words.size(); ++i) parts.push_back(words[i].c_str());
  try {
    int exit = -1;
    const auto run =
        parse_command(*run_command, static_cast<int>(parts.size()), parts.data(), exit);
    if (!run) throw InputError("it runs nothing. Leave --help and --version out.");
    refuse_beside_many(*run);
    refuse_beside_ensemble(*run);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--run \"{}\": {}", run_flag, error.what()));
  }
}

/// The words of `assay run` in the job: the flags for processes on the command line, and --run.
std::vector<std::string> words_of_run(const Arguments& arguments, const fs::path& suite,
                                      const Launcher& launcher, const fs::path& folder) {
  const std::string name = *read_value(arguments, "launcher");
  std::vector<std::string> words = {(executable_folder() / "assay").string(), "run", suite.string(),
                                    "--launcher",
                                    name.ends_with(".json") ? launcher.file().string() : name};
  const std::vector<std::string> more = words_of_flag_run(arguments);
  for (const char* flag :
       {"site", "ranks", "nodes", "hosts", "ranks-per-node", "threads-per-rank", "bind"}) {
    const auto values = arguments.find(flag);
    if (values == arguments.end() && has(more, fmt::format("--{}", flag)))
      throw InputError(fmt::format(
          "--{} is in --run, by which the job's size is not chosen. Give it before --run.", flag));
    // The job's nodes are those of all pairs, but each run has two.
    if (values == arguments.end() || (has(more, "--pairs") && flag == "nodes"s)) continue;
    if (has(more, fmt::format("--{}", flag)))  // a list would combine both values
      throw InputError(fmt::format(
          "--{} was given more than once (before --run and in it). Give it before --run.", flag));
    words.insert(words.end(), {fmt::format("--{}", flag), join(values->second, ",")});
  }
  words.insert(words.end(), more.begin(), more.end());
  // Leaves time for the result, and more if it is collected from the nodes; at least half of a
  // short job remains.
  const std::uint64_t limit = clock_time("--time", *read_value(arguments, "time"), minute);
  const std::uint64_t left =
      std::min(limit / 2, has(more, "--local-results") ? 3 * minute : minute);
  if (!has(more, "--walltime"))
    words.insert(words.end(), {"--walltime", format_clock(limit - left)});
  words.insert(words.end(), {"--out", folder.string(), "--resume"});
  check_words(words, join(more, " "));
  if (has(more, "--pairs")) launcher.expect_choice_of_nodes("--pairs");
  return words;
}

Job make_job(const Arguments& arguments, const Launcher& launcher) {
  const fs::path suite_file = fs::absolute(find_suite(*read_value(arguments, "SUITE")));
  const SuiteSettings suite = read_suite_settings(arguments);
  // Refuses shapes that the launcher cannot start.
  const std::vector<Processes> groups =
      make_processes(process_request(arguments), suite.launch.shapes);
  Job job;
  job.name = "assay-" + plain_name(suite.name);
  job.start = fs::current_path();
  job.folder = fs::absolute(*read_value(arguments, "out")).lexically_normal();
  const std::vector<std::string> flags = words_of_flag_run(arguments);
  job.shape = shape_of_job(groups, has(flags, "--per-node") || has(flags, "--ensemble"));
  job.seconds = clock_time("--time", *read_value(arguments, "time"), minute);
  job.queue = read_value(arguments, "queue").value_or("");
  job.account = read_value(arguments, "account").value_or("");
  job.set_up = set_up_lines(arguments);
  job.run = words_of_run(arguments, suite_file, launcher, job.folder);
  if (has(job.run, "--pairs") && job.shape.nodes < 2)
    throw InputError(
        "--pairs needs at least two nodes (the job would have one). Give their number by --nodes.");
  return job;
}

/// Submits the job and waits for its end.
std::string number_of_ended(const Launcher& launcher, const Job& job, const fs::path& script) {
  prepare_parent();
  fs::create_directories(job.folder / "log");
  return submit_and_follow(launcher, script, job.folder / "log" / "submit");
}

int report_missing_result(const Job& job, const std::string& number) {
  std::cerr << fmt::format(
      "assay job: job {} has ended without a result. Its output in {} says why. Finished rows are "
      "kept there; the same command submits the rest again.\n",
      number, job.folder.string());
  return static_cast<int>(ExitCode::failed);
}

/// The runs of a job that writes a list of them, each with a folder; and the functions that read
/// and report them.
struct ListedRuns {
  const char* list;
  RunRemains (*left)(const fs::path& folder, const WriteTime& before);
  std::function<ExitCode(const std::vector<RunRemains>&)> report;
};

/// Reports the results of a job of many runs. Returns the most severe code of all lists.
int collect_many(const Launcher& launcher, const Job& job, const fs::path& script,
                 const std::vector<ListedRuns>& kinds) {
  std::map<std::string, WriteTime> before;
  for (const auto& entry : fs::directory_iterator(job.folder))
    before[entry.path().filename().string()] = find_result_time(entry.path());
  std::error_code absent;
  // The time of each list; the earliest possible one if the list does not exist.
  std::vector<fs::file_time_type> earlier;
  for (const ListedRuns& kind : kinds)
    earlier.push_back(fs::last_write_time(job.folder / kind.list, absent));
  const std::string number = number_of_ended(launcher, job, script);
  ExitCode code = ExitCode::ok;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const fs::path list = job.folder / kinds[i].list;
    if (fs::last_write_time(list, absent) == earlier[i]) {
      code = find_gravest(code, static_cast<ExitCode>(report_missing_result(job, number)));
      continue;
    }
    std::ifstream stream(list);
    std::vector<RunRemains> runs;
    for (std::string name; std::getline(stream, name);)
      runs.push_back(kinds[i].left(job.folder / name, before[name]));
    code = find_gravest(code, kinds[i].report(runs));
  }
  return static_cast<int>(code);
}

/// The result of a job of one run.
int collect_one(const Launcher& launcher, const Job& job, const fs::path& script,
                const std::optional<Site>& site) {
  const WriteTime before = prepare_folder_of_run(job.folder);
  const std::string number = number_of_ended(launcher, job, script);
  const RunRemains left = read_run_remains(job.folder, before);
  if (!left.result) return report_missing_result(job, number);
  const ExitCode known =
      print_result(*left.result, left.result->run.settings.value_or(RunSettings{}).baselines, site,
                   job.folder.string());
  const ExitCode code = find_gravest(known, left.code);
  if (code != known)
    std::cerr << fmt::format(
        "assay job: the run ended with exit code {}; the output of job {} says why.\n",
        static_cast<int>(code), number);
  return static_cast<int>(code);
}

/// Reports the results of a job that was submitted.
int collect_job(const Arguments& arguments, const Launcher& launcher, const Job& job,
                const fs::path& script) {
  const std::optional<Site> site = find_site(arguments);
  std::vector<ListedRuns> kinds;
  if (has(job.run, "--per-node"))
    kinds.push_back({node_list,
                     [](const fs::path& node, const WriteTime& before) {
                       return read_node_remains(node, before);
                     },
                     [&](const std::vector<RunRemains>& runs) {
                       return report_nodes(runs, job.folder, site);
                     }});
  if (has(job.run, "--pairs"))
    kinds.push_back({pair_list, read_run_remains, [&](const std::vector<RunRemains>& runs) {
                       return static_cast<ExitCode>(
                           report_pairs(runs, read_suite_settings(arguments).tolerance));
                     }});
  return kinds.empty() ? collect_one(launcher, job, script, site)
                       : collect_many(launcher, job, script, kinds);
}

/// The flags, completed by those of --site: launcher, placement, queue and account. `set_up` gets
/// the site's shell commands.
Arguments at_site(Arguments arguments, std::string& set_up) {
  const auto name = read_value(arguments, "site");
  if (!name) {
    if (!arguments.contains("launcher"))
      throw InputError(fmt::format("a job needs --launcher or --site. Launchers: {}; sites: {}.",
                                   join(Launcher::names(), ", "), join(Site::names(), ", ")));
    return arguments;
  }
  const Site site = Site::load(*name);
  if (has(words_of_flag_run(arguments), "--per-node")) arguments["per-node"] = {""};
  arguments = site.apply(std::move(arguments), read_suite_settings(arguments).launch.several);
  for (const auto& [flag, value] : {std::pair{"queue", site.queue}, {"account", site.account}})
    if (!value.empty() && !arguments.contains(flag)) arguments[flag] = {value};
  for (const std::string& line : site.setup) set_up += line + "\n";
  return arguments;
}

int job(const Arguments& line) {
  std::string site_set_up;
  const Arguments arguments = at_site(line, site_set_up);
  const Launcher launcher = Launcher::load(*read_value(arguments, "launcher"));
  Job job = make_job(arguments, launcher);
  job.set_up = site_set_up + job.set_up;
  const std::string text = make_job_script(launcher, job);
  const fs::path script = job.folder / "job.sh";
  check_run_folder(job.folder, list_names_in(arguments));
  check_writable(script);
  fs::create_directories(job.folder);
  write_text(script, text);
  if (!arguments.contains("submit")) {
    std::cout << fmt::format("{}: submit it, or give --submit.\n", script.string());
    return static_cast<int>(ExitCode::ok);
  }
  try {
    return collect_job(arguments, launcher, job, script);
  } catch (const Interruption&) {
    std::cerr << "assay job: interrupted; the submitted job continues.\n";
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace

Command job_command() {
  return {
      "job",
      "Write a batch job that runs a suite, and optionally submit it.",
      group_flags(
          {{"Suite", {{"SUITE", "suite file, or the name of a suite", "SUITE", "", true}}},
           {"Processes", process_flags()},
           {"Job",
            {{"--time", "time limit of the job: minutes, MM:SS or HH:MM:SS", "TIME", "", true},
             {"--queue", "queue or partition", "NAME", "the site's"},
             {"--account", "account that is charged", "NAME", "the site's"},
             {"--setup", "file with shell commands to execute before the run (modules)", "FILE"},
             {"--run", "further flags of `assay run`, e.g. \"--launches 5\"", "FLAGS"},
             {"--submit", "submit the job, follow it, and print its result"}}},
           {output_group,
            {{"--out", "folder of the run and of the script job.sh", "DIR", "", true}}}}),
      &job,
      {{"assay job smoke --launcher slurm --nodes 2 --ranks-per-node 1 --time 30 --out "
        "results/smoke",
        "writes results/smoke/job.sh"}}};
}

}  // namespace assay
