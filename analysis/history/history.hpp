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
#include "analysis/history/points.hpp"

namespace assay {

/// The last points, on which a state rests: it needs all of them beyond the tolerance. One outlier
/// is then no alarm, whatever its distribution; at the edge of the tolerance (half of the points
/// beyond it) one series in 16 is called beyond it, and with the noise well below the tolerance
/// practically none is.
inline constexpr std::size_t latest_points = minimum_segment;
/// Points before these that make the rolling baseline; at least as many as the latest.
inline constexpr std::size_t rolling_points = 8;

struct HistoryOptions {
  std::optional<double> tolerance;  ///< nothing: each row's own, else 0.05
  double false_alarm_rate = 0.05;   ///< of any change point in all series, where nothing changed
  std::string command;
};

/// The document of history.schema.json. exit_code: 4 where a series is slower or drifting, 3 or 7
/// where the last run of one is incorrect or failed, 5 where none is long enough to judge, 6 where
/// there is no series.
nlohmann::json history_document(const Histories& histories, const Anchors& anchors,
                                const std::vector<Event>& events, const HistoryOptions& options);

/// The document for people, or one line a point.
std::string render_history(const nlohmann::json& document, bool markdown);
std::string history_csv(const nlohmann::json& document);

}  // namespace assay
