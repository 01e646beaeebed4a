#pragma once
// The state of one series: what its points and the baselines say.
//
// States that accuse (slower, drifting, and faster, which excuses) need a change that is
// significant at the series' level, a change point or a trend, and the latest points beyond the
// tolerance. All series together then have the declared rate. `suspect` comes earlier, in the run
// in which a step happens, when nothing can be significant yet: it asks a question, which fresh
// launches of both builds answer (analysis/history/confirm.hpp).

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/history/change_points.hpp"
#include "analysis/history/points.hpp"
#include "analysis/history/trend.hpp"

namespace assay {

/// The last points, on which a state rests: it needs all of them beyond the tolerance. One outlier
/// is then no alarm, whatever its distribution.
inline constexpr std::size_t latest_points = minimum_segment;
/// Points before these that make the rolling baseline; at least as many as the latest.
inline constexpr std::size_t rolling_points = 8;
/// Points that make a series, and its anchor where nobody promoted one. With fewer, two outliers
/// are a level.
inline constexpr std::size_t anchor_points = 8;
/// Points at most beside which a suspect step is seen.
inline constexpr std::size_t reference_points = 20;
/// Declared for each series and run, where nothing changed. A rare mode that part q of the runs has
/// is suspect when the reference has none of it: q (1 - q)^8 with 8 points, 4.3 % at most.
inline constexpr double suspect_rate = 0.05;

class Judge {
 public:
  /// `promoted`: the promoted baseline (Anchors::of). `level`: probability of any change point or
  /// trend where nothing changed.
  Judge(const RowHistory& series, const std::optional<nlohmann::json>& promoted, double level,
        double tolerance);
  /// The series' fields in the document of history.schema.json.
  void write(nlohmann::json& into) const;

 private:
  std::span<const Point> points(std::size_t first, std::size_t end) const;
  void adopt(const std::optional<nlohmann::json>& promoted);
  void find_changes(const RowHistory& series, double level);
  void find_trend(double level);
  const char* state_against(double baseline) const;
  std::optional<double> first_level() const;
  void judge_anchored();
  void judge_rolling();
  bool changed(bool up) const;
  std::size_t suspect_since() const;
  bool is_suspect(std::size_t last) const;
  void decide();
  void say(const char* state, const nlohmann::json& baseline, const char* what);

  const std::vector<Point>& points_;
  double tolerance_;
  std::vector<double> logs_;
  std::optional<nlohmann::json> promoted_;
  std::optional<double> since_;  ///< of a promotion
  std::size_t level_start_ = 0;  ///< the first point of the promoted level
  std::size_t accepted_ = 0;     ///< changes up to this point were accepted
  std::span<const Point> latest_, before_;
  std::optional<Trend> trend_;  ///< if it is significant
  nlohmann::json changes_ = nlohmann::json::array(), anchored_, rolling_;
  std::string changes_reason_, anchored_reason_, rolling_reason_, reason_, state_ = "too short";
};

}  // namespace assay
