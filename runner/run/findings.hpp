#pragma once
// What a finished run tells beside the states of its rows.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"
#include "runner/run/lost.hpp"

namespace assay {

/// A line for each finding, and the most severe exit code of them.
struct Findings {
  std::string text;
  ExitCode code = ExitCode::ok;
};

/// The cases that --walltime left out, the numbers that `baselines` have and the result lacks (both
/// 6), and the ceilings compared with those of a site's document (4; null: no site).
Findings findings_of(const nlohmann::json& result, const std::vector<Baseline>& baselines,
                     const nlohmann::json& site);

/// The same for numbers that `where` has.
Findings lost_findings(const std::vector<LostRow>& lost, const std::string& where);

/// The cases whose launches ran with different software (6): a library or a plugin that was
/// replaced during the run; and those whose hosts loaded different builds of one (6).
Findings mixed_findings(const nlohmann::json& result);

}  // namespace assay
