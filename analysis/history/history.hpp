#pragma once
// What many runs say: levels, steps, drift, each series against its anchored and its rolling
// baseline.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/anchors.hpp"
#include "analysis/history/change_points.hpp"
#include "analysis/history/judge.hpp"
#include "analysis/history/points.hpp"

namespace assay {

struct HistoryOptions {
  std::optional<double> tolerance;  ///< nothing: each row's own, else 0.05
  double false_alarm_rate = 0.05;   ///< of any change point, trend or state that rests on one, in
                                    ///< all series together, where nothing changed
  std::string command;
};

/// The document of history.schema.json. exit_code: 4 where a series is slower or drifting, 3 or 7
/// where the last run of one is incorrect or failed, 6 where one is lost or there is no series. A
/// series that is being built, or suspect, fails nothing.
nlohmann::json history_document(const Histories& histories, const Anchors& anchors,
                                const std::vector<Event>& events, const HistoryOptions& options);

/// The document for people, or one line a point.
std::string render_history(const nlohmann::json& document, bool markdown);
std::string history_csv(const nlohmann::json& document);

}  // namespace assay
