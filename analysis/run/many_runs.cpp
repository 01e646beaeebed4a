#include "analysis/run/many_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "analysis/collect/node_files.hpp"
#include "analysis/commands.hpp"
#include "analysis/run/interrupted.hpp"
#include "analysis/run/run.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/result.hpp"

namespace assay {

namespace fs = std::filesystem;

std::vector<std::string> words_of_run(const Given& given, const std::vector<std::string>& but) {
  std::vector<std::string> words = {(executable_folder() / "assay").string(), "run",
                                    *value_of(given, "SUITE")};
  for (const auto& [flag, values] : given) {
    if (flag == "SUITE" || std::find(but.begin(), but.end(), flag) != but.end()) continue;
    for (const std::string& value : values) {
      words.push_back("--" + flag);
      if (!value.empty()) words.push_back(value);
    }
  }
  return words;
}

Launcher named_launcher(const Given& given, const std::string& flag) {
  const std::string name = value_of(given, "launcher").value_or("");
  if (name.empty() || !Launcher::is_name(name))
    throw InputError(
        fmt::format("{} needs the name of a launcher, since it starts processes in several ways "
                    "({}). Give --launcher one of `assay list launchers`.",
                    flag, name.empty() ? "none is given" : "\"" + name + "\" is a command"));
  Launcher launcher = Launcher::load(name);
  launcher.expect_allocation();
  return launcher;
}

fs::path folder_of_many(const Given& given, const std::string& flag) {
  const auto out = value_of(given, "out");
  if (!out)
    throw InputError(
        flag +
        " needs --out (a folder that all nodes can access; each node gets a subfolder). Give it.");
  const fs::path folder = fs::absolute(*out).lexically_normal();
  if (fs::exists(folder / "journal.jsonl"))
    throw InputError(
        fmt::format("{} already contains a single run. Choose another --out.", folder.string()));
  hold_folder(folder, given.contains("resume") ? patience_with_earlier : std::chrono::seconds(0));
  return folder;
}

Ended wait_for_end(const std::vector<std::string>& command, const fs::path& log,
                   const std::string& name, std::optional<std::chrono::seconds> limit) {
  prepare_parent();
  Child child(command, log / (name + ".out.txt"), log / (name + ".err.txt"));
  constexpr std::chrono::milliseconds look(200), grace(10'000);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (const int number = wait_for_signal(look)) {
      child.kill(grace);
      throw Interrupted{number};
    }
    if (const auto ended = child.poll()) return *ended;
    if (!limit || std::chrono::steady_clock::now() - start < *limit) continue;
    child.kill(grace);
    throw CaseError(fmt::format("`{}` has not ended within {} s and was killed", join(command, " "),
                                limit->count()));
  }
}

Written written_in(const fs::path& folder) {
  std::error_code absent;
  const auto time = fs::last_write_time(folder / "result.json", absent);
  return absent ? Written() : Written(time);
}

LeftRun left_run(const fs::path& folder, const Written& before) {
  LeftRun run{folder.filename().string(), nullptr, ""};
  try {
    if (const Written now = written_in(folder); now && now != before) {
      run.result = read_result(folder / "result.json");
      return run;
    }
    run.missing = fs::exists(folder / collecting::end_name) ? tail_of(folder / collecting::end_name)
                  : fs::exists(folder / "journal.jsonl")
                      ? "its run has not ended; its journal is kept, --resume continues it"
                      : "nothing was heard of it";
  } catch (const InputError& error) {
    run.missing = error.what();
  }
  return run;
}

LeftRun left_node(const fs::path& folder, const Written& before, const fs::path& elsewhere) {
  LeftRun run = left_run(folder, before);
  if (run.result.is_null() || fs::exists(folder / collecting::end_name)) return run;
  run.result = nullptr;
  run.missing = elsewhere.empty() ? fmt::format("its run has not ended; see {}", folder.string())
                                  : fmt::format(
                                        "its run has not ended, or was not collected; see "
                                        "{} there",
                                        elsewhere.string());
  return run;
}

ExitCode code_of(const std::vector<LeftRun>& runs) {
  ExitCode code = ExitCode::ok;
  for (const LeftRun& run : runs)
    code =
        gravest(code, run.result.is_null() ? ExitCode::failed : exit_code(run.result.at("rows")));
  return code;
}

}  // namespace assay
