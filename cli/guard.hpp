#pragma once
// `assay run --guard HISTORY`: judges a run against its history as soon as it has ended, and
// confirms suspect rows at once.

#include <filesystem>
#include <optional>
#include <string>

#include "analysis/history/confirm.hpp"
#include "core/base/error.hpp"
#include "core/result/run_result.hpp"
#include "runner/run/run_plan.hpp"

namespace assay {

/// Call it before anything is measured: InputError if the history cannot be read.
void check_guard(const std::filesystem::path& history);

/// Judges the series of the rows of this run, which counts as part of the history. Confirms suspect
/// rows by launches in the folder confirm/ of the run, writes the document to history.json and
/// junit.xml there, and findings to stdout. Returns the exit code of the document.
ExitCode guard(const std::filesystem::path& history, const RunResult& result, const RunPlan& plan);

/// The request for the rows that are suspect in `run`. `plan` is that of the new build; the
/// launches have its settings. Their results are in `folder`.
ConfirmRequest confirm_request(const RunPlan& plan, const std::filesystem::path& folder,
                               const std::string& run);
/// The same for the run of a result, which the caller's own build repeats. `launcher`: as given by
/// the caller. A result never chooses what is executed: InputError if it has another launcher.
ConfirmRequest confirm_request(const NamedResult& result,
                               const std::optional<std::string>& launcher);

}  // namespace assay
