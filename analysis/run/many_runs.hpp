#pragma once
// What `assay run --per-node` and `--pairs` share: runs as processes of their own, in folders below
// one.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/launch/launcher.hpp"
#include "analysis/run/child.hpp"
#include "core/base/error.hpp"
#include "core/program/command.hpp"

namespace assay {

/// `assay run` and the flags of `given`, but for `but`.
std::vector<std::string> words_of_run(const Given& given, const std::vector<std::string>& but);

/// The launcher that --launcher names. InputError for a command's words, and outside of the
/// allocation that it needs.
Launcher named_launcher(const Given& given, const std::string& flag);

/// The absolute folder of --out, made, and held for this process. InputError for none.
std::filesystem::path folder_of_many(const Given& given, const std::string& flag);

/// Runs a command to its end, with its words in LOG/<name>.out.txt and .err.txt. CaseError if it
/// takes longer than `limit`: it is then killed. Interrupted, when a signal asks this process to
/// end; the command's end is then waited for.
Ended wait_for_end(const std::vector<std::string>& command, const std::filesystem::path& log,
                   const std::string& name, std::optional<std::chrono::seconds> limit = {});

/// When the result in a run's folder was written; nothing where there is none.
using Written = std::optional<std::filesystem::file_time_type>;
Written written_in(const std::filesystem::path& folder);

/// What one of many runs has left in its folder.
struct LeftRun {
  std::string name;
  nlohmann::json result;  ///< null where there is none
  std::string missing;    ///< why there is none
};
/// `before`: written_in the folder before the run began. A result that a node has not written anew
/// is an earlier run's, not this one's.
LeftRun left_run(const std::filesystem::path& folder, const Written& before);

/// The same of a node's run, which says its end in the folder: without that, a result there is one
/// of an earlier run, or is not whole. `elsewhere`: where the node itself has its folder, if it is
/// another one.
LeftRun left_node(const std::filesystem::path& folder, const Written& before,
                  const std::filesystem::path& elsewhere = {});

/// The gravest exit code of all: 7 where a result is missing.
ExitCode code_of(const std::vector<LeftRun>& runs);

}  // namespace assay
