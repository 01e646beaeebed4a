#pragma once
// The findings of a finished run beside the states of its rows.

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

/// The cases that --walltime left out, the numbers that `baselines` have and the result lacks (both
/// 6), and the ceilings compared with those of a site (a line for each; 4 if one is below the
/// site's tolerance).
Findings find_findings(const RunResult& result, const std::vector<Baseline>& baselines,
                       const std::optional<Site>& site);

/// Prints the table of a finished run, and its findings (find_findings). `baselines`: their names.
/// Returns the exit code of the rows and the findings.
ExitCode print_result(const RunResult& result, const std::vector<std::string>& baselines,
                      const std::optional<Site>& site, const std::string& folder);

/// The rows that were measured and have a result in `other`, but are `unsupported` or absent in
/// `result` (6). Incorrect and failed rows are not included, since their status reports them.
/// `where`: a name of `other`.
Findings find_lost(const RunResult& result, const RunResult& other, const std::string& where);

/// The cases whose launches ran with different software (6): a library or a plugin that was
/// replaced during the run; and those whose hosts loaded different builds of one (6).
Findings find_mixed(const RunResult& result);

}  // namespace assay
