#pragma once
// Creates the result file of a run from its journal.

#include <filesystem>
#include <string>
#include <vector>

#include "core/result/baseline.hpp"
#include "runner/run/run_record.hpp"

namespace assay {

/// The result of a run: one environment for each process that reported one, and all rows. Each row
/// has the index of its environment, its ceiling, and its number in the first of `baselines` that
/// has a comparable one. InputError if the journal has no event "run". `left_out`: ids of the cases
/// that did not run before the time limit; the result lists them.
RunResult make_run_result(RunRecord record, const std::vector<Baseline>& baselines,
                          const std::vector<std::string>& left_out = {});

/// Writes a result, after the checks of read_result.
void write_checked(const RunResult& result, const std::filesystem::path& file);

/// Writes make_run_result() of the record of `journal` to `file` and returns it. The document
/// passes the checks of read_result before it replaces `file`.
RunResult write_run_result(RunRecord record, const std::filesystem::path& journal,
                           const std::filesystem::path& file,
                           const std::vector<Baseline>& baselines,
                           const std::vector<std::string>& left_out = {});

}  // namespace assay
