#include "runner/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iostream>

#include "analysis/pattern.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "runner/launch/process_flags.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/interrupted.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds patience(60);  // of one command of the batch system
/// A batch system must not be asked more often by a thousand users.
constexpr std::chrono::seconds between_questions(2);

const json& job_of(const Launcher& launcher) {
  if (launcher.document().contains("job")) return launcher.document().at("job");
  std::vector<std::string> with_jobs;
  for (const std::string& name : Launcher::names())
    if (Launcher::load(name).document().contains("job")) with_jobs.push_back(name);
  throw InputError(fmt::format(
      "the launcher {} has no batch jobs ({}). Choose the launcher of a batch system: {}.",
      launcher.name(), launcher.document().at("description").get<std::string>(),
      join(with_jobs, ", ")));
}

std::string number_or_none(std::uint64_t number) {
  return number == 0 ? "" : std::to_string(number);
}

Placeholders values_of(const Job& job) {
  const std::uint64_t minutes = (job.seconds + 59) / 60;
  return {{"nodes", number_or_none(job.shape.nodes)},
          {"ranks_per_node", number_or_none(job.shape.ranks_per_node)},
          {"ranks", number_or_none(job.shape.all_ranks())},
          {"threads", number_or_none(job.shape.threads)},
          {"name", job.name},
          {"folder", job.folder.string()},
          {"time", clock_text(job.seconds)},
          {"hours_minutes", fmt::format("{:02}:{:02}", minutes / 60, minutes % 60)},
          {"queue", job.queue},
          {"account", job.account}};
}

/// Batch systems end a directive's value at a blank, and each quotes by rules of its own.
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

/// What a command of the batch system prints. CaseError if it fails.
std::string answer_of(const std::vector<std::string>& command, const fs::path& scratch) {
  Ended ended;
  std::string said;
  const std::string text = output_of(command, scratch, patience, ended, said);
  if (ended.signalled || ended.code != 0)
    throw CaseError(fmt::format("`{}` {}{}{}", join(command, " "), ended.text(),
                                said.empty() ? "" : ": ", said));
  return text;
}

/// The word of `active` in an answer, or "" for a job that has ended. The rest of an answer may
/// change each time (PBS lists the resources that were used), and is not news.
std::string active_state(const std::string& answer, const json& active) {
  for (const json& word : active)
    if (answer.find(word.get<std::string>()) != std::string::npos) return word.get<std::string>();
  return "";
}

/// Waits for the end of a job. A batch system that forgets it, or does not answer three times in a
/// row, ends the waiting: the result's folder tells what the job has done.
void follow(const Launcher& launcher, const std::string& number, const fs::path& scratch) {
  const json& job = job_of(launcher);
  const std::vector<std::string> question = launcher.filled(job.at("state"), {{"job", number}});
  std::string last;
  for (int silent = 0; silent < 3;) {
    try {
      std::string state = active_state(answer_of(question, scratch), job.at("active"));
      silent = 0;
      if (state.empty()) return;
      if (state != last) std::cerr << fmt::format("assay job: job {}: {}\n", number, state);
      last = std::move(state);
    } catch (const CaseError& error) {
      // Batch systems fail a question about a job that they have forgotten.
      if (++silent == 3) std::cerr << fmt::format("assay job: job {}: {}\n", number, error.what());
    }
    if (const int signal = wait_for_signal(between_questions)) throw Interrupted{signal};
  }
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string("_-./=:,+@%").find(static_cast<char>(c)) != std::string::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string job_script(const Launcher& launcher, const Job& job) {
  check_folder(job.folder);
  std::string script;
  for (const std::string& line : launcher.filled(job_of(launcher).at("script"), values_of(job)))
    script += line + "\n";
  script += "# Written by `assay job`. Submitted again, it runs only what is missing or failed.\n";
  // Some batch systems start a job in the home folder, where relative names lead nowhere.
  script += "cd " + shell_word(job.start.string()) + "\n";
  if (!job.set_up.empty()) script += job.set_up + (job.set_up.ends_with('\n') ? "" : "\n");
  std::vector<std::string> words;
  for (const std::string& word : job.run) words.push_back(shell_word(word));
  return script + "exec " + join(words, " ") + "\n";
}

std::string submit_and_follow(const Launcher& launcher, const fs::path& script,
                              const fs::path& scratch) {
  const json& job = job_of(launcher);
  std::vector<std::string> command =
      launcher.filled(job.at("submit"), {{"script", script.string()}});
  if (job.value("script_on_stdin", false))
    command = {"/bin/sh", "-c", "exec " + join(command, " ") + " <\"$1\"", "submit",
               script.string()};
  const std::string answer = answer_of(command, scratch);
  const auto groups =
      Pattern("(?s).*?" + job.at("number").get<std::string>() + ".*", launcher.file().string())
          .groups_of(answer);
  if (!groups || groups->empty() || groups->front().empty())
    throw CaseError(
        fmt::format("the number of the job is unknown (`{}` printed \"{}\", which {} "
                    "does not match).",
                    join(command, " "), answer, job.at("number").get<std::string>()));
  const std::string number = groups->front();
  std::cerr << fmt::format("assay job: submitted as {}\n", number);
  follow(launcher, number, scratch);
  return number;
}

}  // namespace assay
