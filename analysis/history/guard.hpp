#pragma once
// `assay run --guard HISTORY`: a run judged against its history as soon as it has ended, and
// suspects answered at once.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/run/run_plan.hpp"
#include "core/base/error.hpp"

namespace assay {

/// Before anything is measured: InputError for a history that cannot be read afterwards.
void check_guard(const std::filesystem::path& history);

/// Judges the series of this run's rows, with the run in the history whether it lies below it or
/// not; answers suspects by launches in the run's folder (confirm/), writes the document to
/// history.json there and what deserves a line to stdout. Returns the document's exit code.
ExitCode guard(const std::filesystem::path& history, const nlohmann::json& result,
               const RunPlan& plan);

}  // namespace assay
