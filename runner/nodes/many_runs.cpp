#include "runner/nodes/many_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <list>
#include <map>
#include <set>

#include "analysis/text_table.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/given.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/processes.hpp"
#include "runner/nodes/node_files.hpp"
#include "runner/run/findings.hpp"
#include "runner/supervision/process_table.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr const char* end_text = "ended with exit code ";

/// "n1", "n1, n2", "n1, n2, n3 and 13 more".
std::string list_few(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  for (std::string& name : shown) name = visible(name);
  return join(shown, ", ") +
         (names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

}  // namespace

std::vector<std::string> words_of_run(const Arguments& arguments,
                                      const std::vector<std::string>& but) {
  std::vector<std::string> words = {(executable_folder() / "assay").string(), "run",
                                    *read_value(arguments, "SUITE")};
  for (const auto& [flag, values] : arguments) {
    if (flag == "SUITE" || std::find(but.begin(), but.end(), flag) != but.end()) continue;
    for (const std::string& value : values) {
      words.push_back("--" + flag);
      if (!value.empty()) words.push_back(value);
    }
  }
  return words;
}

Launcher read_launcher(const Arguments& arguments, const std::string& flag) {
  const std::string name = read_value(arguments, "launcher").value_or("");
  if (name.empty() || !Launcher::is_name(name))
    throw InputError(
        fmt::format("{} needs the name of a launcher, since it starts processes in several ways "
                    "({}). Give --launcher one of `assay list launchers`.",
                    flag, name.empty() ? "none is given" : "\"" + name + "\" is a command"));
  Launcher launcher = Launcher::load(name);
  launcher.expect_allocation();
  return launcher;
}

fs::path folder_of_many(const Arguments& arguments, const std::string& flag) {
  const auto out = read_value(arguments, "out");
  if (!out)
    throw InputError(
        flag +
        " needs --out (a folder that all nodes can access; each node gets a subfolder). Give it.");
  const fs::path folder = fs::absolute(*out).lexically_normal();
  if (fs::exists(folder / "journal.jsonl"))
    throw InputError(
        fmt::format("{} already contains a single run. Choose another --out.", folder.string()));
  // This process holds the lock until it ends, for both --per-node and --pairs.
  static std::set<fs::path> held;
  if (held.insert(folder).second)
    hold_folder(folder,
                arguments.contains("resume") ? patience_with_earlier : std::chrono::seconds(0));
  return folder;
}

Walltime::Walltime(const Arguments& arguments) {
  if (const auto limit = read_value(arguments, "walltime"))
    end_ = std::chrono::steady_clock::now() +
           std::chrono::seconds(clock_time("--walltime", *limit, 1));
}

std::optional<std::uint64_t> Walltime::left_seconds() const {
  if (!end_) return std::nullopt;
  const auto left =
      std::chrono::floor<std::chrono::seconds>(*end_ - std::chrono::steady_clock::now());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, left.count()));
}

ProcessEnd run_logged(const std::vector<std::string>& command, const fs::path& log,
                      const std::string& name, std::optional<std::chrono::seconds> limit,
                      const std::function<void()>& watch) {
  prepare_parent();
  std::list<Child> child;
  child.emplace_back(command, log / (name + ".out.txt"), log / (name + ".err.txt"));
  if (!wait_for_end(child, limit, grace_of_runs, watch))
    throw CaseError(fmt::format("`{}` has not ended within {} s and was killed", join(command, " "),
                                limit->count()));
  return *child.front().poll();
}

void write_end(const fs::path& folder, const std::string& how) {
  try {
    write_text(folder / collecting::end_name, how + "\n");
  } catch (const InputError&) {  // a full disk; the result was written before, and only the result
                                 // counts
  }
}

/// True if a line of the journal is the event of a row, even a damaged one.
static bool has_row(const fs::path& journal) {
  std::ifstream stream(journal);
  for (std::string line; std::getline(stream, line);)
    if (line.find("\"event\":\"row\"") != std::string::npos) return true;
  return !stream.eof();  // it cannot be read
}

bool any_run_below(const fs::path& folder) {
  std::error_code absent;
  bool any = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent)) {
    const fs::path journal = entry.path() / collecting::journal_name;
    if (!fs::exists(journal, absent)) continue;
    if (has_row(journal) || collecting::is_at_work(entry.path()))
      any = true;
    else
      fs::remove(journal, absent);
  }
  return any;
}

std::string describe_end(int code) { return fmt::format("{}{}", end_text, code); }

std::optional<ExitCode> read_end_code(const fs::path& folder) {
  const std::string text = readable_text(folder / collecting::end_name);
  const std::string line = text.substr(0, text.find('\n'));
  if (!line.starts_with(end_text)) return std::nullopt;
  constexpr std::uint64_t most = 255;
  return static_cast<ExitCode>(
      whole_number("exit code", line.substr(std::string(end_text).size()), 0, most));
}

WriteTime prepare_folder_of_run(const fs::path& folder) {
  std::error_code absent;
  fs::remove(folder / collecting::end_name, absent);
  return find_result_time(folder);
}

WriteTime find_result_time(const fs::path& folder) {
  std::error_code absent;
  const auto time = fs::last_write_time(folder / "result.json", absent);
  return absent ? WriteTime() : WriteTime(time);
}

RunRemains read_run_remains(const fs::path& folder, const WriteTime& before) {
  RunRemains run{.name = folder.filename().string()};
  const fs::path end = folder / collecting::end_name;
  try {
    // A run that was refused has written no result, so another run wrote this one.
    const bool refused = fs::exists(end) && !read_end_code(folder);
    if (const WriteTime now = find_result_time(folder); now && now != before && !refused) {
      run.result = read_result(folder / "result.json");
      run.code = read_end_code(folder).value_or(ExitCode::ok);
      return run;
    }
    run.missing = fs::exists(end) ? read_tail(end)
                  : fs::exists(folder / "journal.jsonl")
                      ? "its run has not ended; its journal is kept, --resume continues it"
                      : "nothing was heard of it";
  } catch (const InputError& error) {
    run.missing = error.what();
  }
  return run;
}

RunRemains read_node_remains(const fs::path& folder, const WriteTime& before,
                             const fs::path& elsewhere) {
  RunRemains run = read_run_remains(folder, before);
  if (!run.result || fs::exists(folder / collecting::end_name)) return run;
  run.result.reset();
  run.missing = elsewhere.empty()
                    ? fmt::format("its run has not ended; see {}", folder.string())
                    : fmt::format("its run has not ended, or was not collected; see {} there",
                                  elsewhere.string());
  return run;
}

ExitCode find_exit_code(const std::vector<RunRemains>& runs) {
  ExitCode code = ExitCode::ok;
  for (const RunRemains& run : runs)
    code =
        find_gravest({code, run.code, run.result ? exit_code(run.result->rows) : ExitCode::failed});
  return code;
}

std::string make_report(const std::vector<RunRemains>& runs, const std::optional<Site>& site) {
  std::string text;
  std::map<std::string, std::vector<std::string>> findings;  // each with the names of its runs
  for (const RunRemains& run : runs) {
    if (!run.result) {
      text += fmt::format("MISSING: {} ({})\n", visible(run.name), visible(run.missing));
      continue;
    }
    if (run.code == ExitCode::ok) continue;
    const Findings own = find_findings(*run.result, {}, site);
    if (own.code != ExitCode::ok)
      for (const std::string& line : split(own.text, '\n'))
        if (!line.empty()) findings[line].push_back(run.name);
    const ExitCode known = find_gravest(exit_code(run.result->rows), own.code);
    if (find_gravest(known, run.code) != known)
      findings[describe_end(static_cast<int>(run.code)) + " (its output says why)"].push_back(
          run.name);
  }
  for (const auto& [line, names] : findings) text += fmt::format("{}: {}\n", list_few(names), line);
  return text;
}

}  // namespace assay
