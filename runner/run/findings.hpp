#pragma once
// The findings on a finished run beside the states of its rows.

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"
#include "core/result/run_result.hpp"
#include "runner/launch/site.hpp"

namespace assay {

/// A line for each finding, and the most severe exit code of them.
struct Findings {
  std::string text{};
  ExitCode code = ExitCode::ok;

  void add(const Findings& more);
};

/// The findings on a run: the cases that --walltime left out, and the numbers that `baselines` have
/// and the result lacks (both 6); the ceilings compared with those of a site (a line for each; 4 if
/// one is below the site's tolerance).
Findings find_findings(const RunResult& result, const std::vector<Baseline>& baselines,
                       const std::optional<Site>& site);

/// Prints the table of a finished run, and its findings (find_findings). `baselines`: their names.
/// Returns the exit code of the rows and the findings.
ExitCode print_result(const RunResult& result, const std::vector<std::string>& baselines,
                      const std::optional<Site>& site, const std::string& folder);

/// The rows that were measured and have a result in `other`, but are `unsupported` or absent in
/// `result` (6). Incorrect and failed rows are not included, because their status reports them.
/// `where`: a name for `other`.
Findings find_lost(const RunResult& result, const RunResult& other, const std::string& where);

/// Cases with different software in their launches, because a library or a plugin was replaced
/// during the run (6); and cases whose hosts loaded different builds of a library or plugin (6).
Findings find_mixed(const RunResult& result);

}  // namespace assay
