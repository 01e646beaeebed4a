#pragma once
// Common parts of `assay run --per-node` and `--pairs`: several runs, each in a separate process
// with its own folder below --out.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/program/command.hpp"
#include "core/result/run_result.hpp"
#include "runner/launch/launcher.hpp"
#include "runner/launch/site.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

/// The command `assay run` with the flags of `arguments`, except those in `but`.
std::vector<std::string> words_of_run(const Arguments& arguments,
                                      const std::vector<std::string>& but);

/// The launcher that --launcher names. InputError if --launcher is a command instead of a name, and
/// if the launcher needs an allocation and there is none. `flag`: for the message.
Launcher read_launcher(const Arguments& arguments, const std::string& flag);

/// The absolute path of the folder of --out, which is created and locked for this process.
/// InputError if --out is not given.
std::filesystem::path folder_of_many(const Arguments& arguments, const std::string& flag);

/// The rest of --walltime for runs that start after other work of the command: node lists,
/// pre-flights, earlier runs. The clock starts when this object is created.
class Walltime {
 public:
  /// InputError if --walltime is not a time.
  explicit Walltime(const Arguments& arguments);
  /// Whole seconds, 0 if the time is over; nothing without --walltime.
  std::optional<std::uint64_t> left_seconds() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

/// The time that a run gets for ending its processes on other nodes (Child::kill).
inline constexpr std::chrono::seconds grace_of_runs(10);

/// Runs a command to its end, with its output in LOG/<name>.out.txt and .err.txt, and calls `watch`
/// a few times per second. CaseError if it takes longer than `limit` and was killed. Interrupted if
/// a signal asked this process to end; the command has then ended, too.
ProcessEnd run_logged(
    const std::vector<std::string>& command, const std::filesystem::path& log,
    const std::string& name, std::optional<std::chrono::seconds> limit = {},
    const std::function<void()>& watch = [] {});

/// Writes how the run has ended, as the last file in its folder; describe_end() for an exit code.
void write_end(const std::filesystem::path& folder, const std::string& how);
std::string describe_end(int code);
/// True if a folder below `folder` has a run that --resume would continue. Removes journals without
/// rows that ended runs have left, because a launcher may have killed these runs before they could
/// remove them.
bool any_run_below(const std::filesystem::path& folder);
/// The exit code of the run in a folder; nothing if it has not ended, or has ended without one.
std::optional<ExitCode> read_end_code(const std::filesystem::path& folder);

/// The time when the result in a run's folder was written; nothing if there is no result.
using WriteTime = std::optional<std::filesystem::file_time_type>;
WriteTime find_result_time(const std::filesystem::path& folder);
/// The same, before a run is started there. Removes the file that write_end() of an earlier run has
/// written.
WriteTime prepare_folder_of_run(const std::filesystem::path& folder);

/// The result in the folder of one of several runs.
struct RunRemains {
  std::string name{};
  std::optional<RunResult> result{};  ///< nothing if it is missing
  std::string missing{};              ///< why it is missing
  ExitCode code = ExitCode::ok;       ///< with which it has ended
};
/// Reads the result of a run. `before`: find_result_time() of the folder before the run began. A
/// result that was not written since then belongs to an earlier run, and counts as missing.
RunRemains read_run_remains(const std::filesystem::path& folder, const WriteTime& before);

/// The same for the run of a node, which writes a mark into its folder when it ends. Without the
/// mark, a result there is incomplete or belongs to an earlier run. `elsewhere`: the folder on the
/// node itself, if that is another one (--local-results).
RunRemains read_node_remains(const std::filesystem::path& folder, const WriteTime& before,
                             const std::filesystem::path& elsewhere = {});

/// The most severe exit code of the runs; failed (7) if a result is missing.
ExitCode find_exit_code(const std::vector<RunRemains>& runs);

/// A line for each missing result, and for each finding of a run that did not end with 0
/// (list_findings), with the names of the runs concerned.
std::string make_report(const std::vector<RunRemains>& runs, const std::optional<Site>& site = {});

}  // namespace assay
