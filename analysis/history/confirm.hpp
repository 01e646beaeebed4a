#pragma once
// Confirms suspect rows: fresh launches of the promoted build and of the new build, interleaved.
//
// The number of launches and the decision rule are those of `assay compare --confirm`. A suspect
// row was selected because it looked slow, so its own launches cannot confirm that.

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/history/anchors.hpp"

namespace assay {

/// Probability of a false answer (software or machine slower) among all suspects of a run.
inline constexpr double confirm_rate = 0.01;

/// The answer for a row. "software slower": the new build is slower than the promoted build.
/// "machine slower": it is not, but both builds are slower than the promoted level. "noise":
/// neither. `promoted_build`, `new_build`: launch medians in seconds; `level`: the promoted level
/// in seconds. `limit`: the probability of a false answer for this row.
Confirmation judge_launches(std::span<const double> promoted_build,
                            std::span<const double> new_build, double level, double tolerance,
                            double limit);

/// The request for a confirmation. It includes the functions that start processes, because only the
/// caller may start them.
struct ConfirmRequest {
  /// Folder with the programs of the promoted build; by default the promoted installation.
  std::optional<std::filesystem::path> build;
  std::filesystem::path new_build;  ///< folder with the programs of the new build
  std::filesystem::path folder;     ///< for the results of the launches
  std::string run;                  ///< only rows that are suspect in this run are confirmed
  /// A hash of the build whose programs are in the folder; "" if no benchmark is there.
  std::function<std::string(const std::filesystem::path&)> compute_hash;
  /// Launches the cases `ids` with the promoted build, whose programs are in `promoted`, and with
  /// the new one, interleaved. Returns the results of the promoted build, then those of the new
  /// one, and writes them to `folder`/promoted and `folder`/new.
  std::function<std::vector<RunResult>(const std::filesystem::path& promoted,
                                       const std::vector<std::string>& ids,
                                       const std::filesystem::path& folder)>
      launch;
};

/// Launches the suspect rows of a history, and sets their confirmations and its exit code: 4 for
/// software or machine slower, 8 if an answer was impossible. Throws the exceptions of
/// ConfirmRequest::launch.
void confirm(History& history, const Anchors& anchors, const ConfirmRequest& request);

/// Shows earlier answers: sets confirmations and exit code as confirm() does, from the launches
/// that it left in the folder of the run, without new launches. Launches count if they are
/// complete, and newer than the promotion that is valid now.
void recall_answers(History& history, const Anchors& anchors, const Results& results);

/// The folder for the launches of a confirmation, beside the result.json of the run.
std::filesystem::path confirm_folder(const std::filesystem::path& result);

}  // namespace assay
