#pragma once
// The answer to a suspect: fresh launches of the promoted build and of the new one, interleaved.
//
// The launches are as many as those that confirm a comparison, and are judged by the same rule. The
// suspect row was selected for looking slow; its own launches are no evidence any more.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/history/anchors.hpp"
#include "analysis/history/points.hpp"
#include "analysis/run/run_plan.hpp"
#include "core/base/error.hpp"

namespace assay {

/// Probability of a false answer (software or machine slower) among all suspects of a run.
inline constexpr double confirm_rate = 0.01;

/// The answer of one row, {"answer", "reason", "ratio", "interval", "p", …} of history.schema.json.
/// software slower: the new build is slower than the promoted one, by the rule of `assay compare`.
/// machine slower: that is not shown, and both are slower than the promoted level. noise: neither.
/// `limit`: probability of a false answer of this row.
nlohmann::json answer_of(std::span<const double> promoted_build, std::span<const double> new_build,
                         double level, double tolerance, double limit);

struct ConfirmRequest {
  RunPlan plan;                                ///< of the new build, the caller's own
  std::optional<std::filesystem::path> build;  ///< programs of the promoted one; else as promoted
  std::filesystem::path folder;                ///< for the launches
  std::string run;                             ///< only rows that are suspect in this run
};

/// Runs what is suspect in `document`, and writes "confirmation" into its series and the exit code
/// into the document: 4 for software or machine slower, 8 for what could not be confirmed.
/// Unfinished as run_side_by_side.
void confirm(nlohmann::json& document, const Histories& histories, const Anchors& anchors,
             const ConfirmRequest& request);

/// The request that repeats the run of a result with the caller's own build. `launcher`: what the
/// caller says; a result never chooses what is executed, so that another one in it is refused.
ConfirmRequest request_for(const NamedResult& result, const std::vector<std::string>& launcher);

}  // namespace assay
