#include "runner/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iostream>

#include "analysis/pattern.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "runner/launch/processes.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds patience(60);  // of one command of the batch system
/// Interval of questions to a batch system, which may have a thousand users.
constexpr std::chrono::seconds between_questions(2);

const BatchSystem& batch_system(const Launcher& launcher) {
  if (launcher.batch_system()) return *launcher.batch_system();
  std::vector<std::string> with_jobs;
  for (const std::string& name : Launcher::names())
    if (Launcher::load(name).batch_system()) with_jobs.push_back(name);
  throw InputError(fmt::format(
      "the launcher {} has no batch jobs ({}). Choose the launcher of a batch system: {}.",
      launcher.name(), launcher.description(), join(with_jobs, ", ")));
}

Placeholders make_placeholders(const Job& job) {
  const std::uint64_t minutes = (job.seconds + 59) / 60;
  return {{"nodes", number_or_none(job.shape.nodes)},
          {"ranks_per_node", number_or_none(job.shape.ranks_per_node)},
          {"ranks", number_or_none(job.shape.all_ranks())},
          {"threads", number_or_none(job.shape.threads)},
          {"name", job.name},
          {"folder", job.folder.string()},
          {"time", format_clock(job.seconds)},
          {"hours_minutes", fmt::format("{:02}:{:02}", minutes / 60, minutes % 60)},
          {"queue", job.queue},
          {"account", job.account}};
}

/// Batch systems end a directive's value at a blank, and their rules for quoting differ.
void check_folder(const fs::path& folder) {
  const std::string name = folder.string();
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isspace(c) != 0 || std::iscntrl(c) != 0 || c == '"' || c == '\'' || c == '\\';
      }))
    throw InputError(
        fmt::format("{} cannot be the folder of a batch job (the script's directives cannot name a "
                    "folder with blanks, control characters, quotes or backslashes). Choose "
                    "another --out.",
                    visible(name)));
}

/// The output of a command of the batch system. CaseError if it fails.
std::string batch_output(const std::vector<std::string>& command, const fs::path& scratch) {
  const FinishedCommand finished = finish_command(command, scratch, patience);
  if (finished.failed())
    throw CaseError(fmt::format("`{}` {}", join(command, " "), finished.how()));
  return finished.output;
}

/// The first of the words `active` in an answer, or "" for a job that has ended. The rest of an
/// answer may change each time (PBS lists the resources that were used), and is no news.
std::string active_state(const std::string& answer, const std::vector<std::string>& active) {
  for (const std::string& word : active)
    if (answer.find(word) != std::string::npos) return word;
  return "";
}

/// Waits for the end of a job. The wait also ends if the batch system has forgotten the job, or
/// does not answer three times in a row; the result's folder then shows what the job has done.
void follow(const Launcher& launcher, const std::string& number, const fs::path& scratch) {
  const BatchSystem& system = batch_system(launcher);
  const std::vector<std::string> question = launcher.fill(system.state, {{"job", number}});
  std::string last;
  for (int silent = 0; silent < 3;) {
    try {
      std::string state = active_state(batch_output(question, scratch), system.active);
      silent = 0;
      if (state.empty()) return;
      if (state != last) std::cerr << fmt::format("assay job: job {}: {}\n", number, state);
      last = std::move(state);
    } catch (const CaseError& error) {
      // Batch systems report an error for a job that they have forgotten.
      if (++silent == 3) std::cerr << fmt::format("assay job: job {}: {}\n", number, error.what());
    }
    if (const int signal = wait_for_signal(between_questions)) throw Interruption{signal};
  }
}

}  // namespace

std::string make_job_script(const Launcher& launcher, const Job& job) {
  check_folder(job.folder);
  std::string script;
  for (const std::string& line :
       launcher.fill(batch_system(launcher).script, make_placeholders(job)))
    script += line + "\n";
  script += "# Written by `assay job`. Submitted again, it runs only what is missing or failed.\n";
  // Some batch systems start a job in the home folder, where relative names would be wrong.
  script += "cd " + shell_word(job.start.string()) + "\n";
  if (!job.set_up.empty()) script += job.set_up + (job.set_up.ends_with('\n') ? "" : "\n");
  std::vector<std::string> words;
  for (const std::string& word : job.run) words.push_back(shell_word(word));
  return script + "exec " + join(words, " ") + "\n";
}

std::string submit_and_follow(const Launcher& launcher, const fs::path& script,
                              const fs::path& scratch) {
  const BatchSystem& system = batch_system(launcher);
  std::vector<std::string> command = launcher.fill(system.submit, {{"script", script.string()}});
  if (system.script_on_stdin)
    command = {"/bin/sh", "-c", "exec " + join(command, " ") + " <\"$1\"", "submit",
               script.string()};
  const std::string answer = batch_output(command, scratch);
  const auto groups =
      TextPattern("(?s).*?" + system.number + ".*", launcher.file().string()).match_groups(answer);
  if (!groups || groups->empty() || groups->front().empty())
    throw CaseError(fmt::format(
        "the number of the job is unknown (`{}` printed \"{}\", which {} does not match).",
        join(command, " "), answer, system.number));
  const std::string number = groups->front();
  std::cerr << fmt::format("assay job: submitted as {}\n", number);
  follow(launcher, number, scratch);
  return number;
}

}  // namespace assay
