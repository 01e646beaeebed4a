#pragma once
// Runs of suites, in their folders, from the first process to result.json.

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "analysis/run/run_plan.hpp"

namespace assay {

/// A run that ended before its last case; what is finished stands in the journal.
class Unfinished : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How long a resumed run waits for the run before it to end: a batch system kills a job's
/// processes some seconds after it has begun to end them, and may start the next job meanwhile.
inline constexpr std::chrono::seconds patience_with_earlier(30);

/// One run at a time in a folder: makes it, with its log/, and holds it until this process ends.
/// File systems without locks are trusted. InputError if it cannot be made, or another one holds
/// it for longer than `patience`; that it waits is said on stderr.
void hold_folder(const std::filesystem::path& folder, std::chrono::seconds patience);

/// Runs the plans side by side and returns their results: launch by launch, within a launch one
/// plan after the other in a recorded random order. What drifts (temperature, neighbours on a
/// shared machine) then meets every side alike, which is what makes two builds comparable. All
/// plans have the same number of launches. InputError before anything is measured, with the folders
/// removed that were made for it; Unfinished for what ends a run (a signal, a full disk).
std::vector<nlohmann::json> run_side_by_side(std::vector<RunPlan> plans);

}  // namespace assay
