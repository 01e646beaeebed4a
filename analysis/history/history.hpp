#pragma once
// The document of `assay history` (results-schema/history.schema.json), made and rendered: levels,
// steps and drift of each series, compared with its anchored and its rolling baseline.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/anchors.hpp"
#include "analysis/history/change_points.hpp"
#include "analysis/history/judge.hpp"
#include "analysis/history/points.hpp"
#include "core/base/error.hpp"

namespace assay {

struct HistoryOptions {
  std::optional<double> tolerance;  ///< of all rows; by default that of each row, else 0.05
  /// Probability of any change point, trend, or state that is based on one, in all series together,
  /// where nothing changed.
  double false_alarm_rate = 0.05;
  std::string command;
};

/// exit_code: 4 where a series is slower or drifting, 3 or 7 where its last run is incorrect or
/// failed, 6 where its result is lost or there is no series. Series that are too short or suspect
/// do not change the exit code.
nlohmann::json history_document(const Histories& histories, const Anchors& anchors,
                                const std::vector<Event>& events, const HistoryOptions& options);

/// The exit code for the last run of a row, if it has no result: an earlier result never hides
/// this.
ExitCode last_run_code(const RowHistory& series);

/// The document as text, for people.
std::string render_history(const nlohmann::json& document, bool markdown);
/// JUnit XML of the last runs: a testsuite per benchmark, a testcase per series. failure:
/// incorrect, slower, drifting, lost, and suspects that were confirmed; error: failed, and suspects
/// that could not be confirmed; skipped: unsupported.
std::string history_junit(const nlohmann::json& document);
/// The points of all series as CSV, a line per point.
std::string history_csv(const nlohmann::json& document);

}  // namespace assay
