#pragma once
// The state of a series, from its points and its baselines.
//
// The states slower, drifting and faster need a change point or a trend that is significant at the
// level of the series, and the latest points outside of the tolerance. All series together then
// keep the declared false-alarm rate. The state suspect comes earlier, in the run in which a step
// happens, when nothing can be significant yet. It asks a question that fresh launches of both
// builds answer (analysis/history/confirm.hpp).

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/history/change_points.hpp"
#include "analysis/history/points.hpp"
#include "analysis/history/trend.hpp"

namespace assay {

/// The number of last points that decide a state: all of them must be outside of the tolerance, so
/// a single outlier never causes an alarm.
inline constexpr std::size_t latest_points = minimum_segment;
/// Points before these that form the rolling baseline (at least as many as the latest points).
inline constexpr std::size_t rolling_points = 8;
/// Points that a series needs to be judged, and that form its anchor where none was promoted. With
/// fewer, two outliers would look like a level.
inline constexpr std::size_t anchor_points = 8;
/// At most this many undisturbed points before a suspect step are its reference.
inline constexpr std::size_t reference_points = 40;
/// The part of the tolerance from which on a value is suspect. Noise may make a run faster, so a
/// step of the whole tolerance is found only from a lower value on: with noise of a fifth of the
/// tolerance in 95 % of the series (docs/method.md has the rates).
inline constexpr double suspect_margin = 0.6;
/// So many undisturbed points near each other are a level that stayed. It is a mode of the machine,
/// and its next value is not suspect.
inline constexpr std::ptrdiff_t level_points = 3;
/// Declared rate of suspects for each series of 8 to 52 points and run where nothing changed, also
/// with outliers or modes. A rare mode with the probability q is suspect while the reference has
/// fewer than level_points of it: in 3.4 % of the runs at most with 40 points, in up to 17 %
/// with 8.
inline constexpr double suspect_rate = 0.07;

class Judge {
 public:
  /// `promoted`: the promoted baseline (Anchors::of). `level`: the probability of any change point
  /// or trend where nothing changed.
  Judge(const RowHistory& series, const std::optional<nlohmann::json>& promoted, double level,
        double tolerance);
  /// Writes the fields of the series in history.schema.json.
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
  std::vector<const Point*> before_last(std::size_t last) const;
  double level_of(std::span<const Point* const> reference) const;
  void set_suspect(std::size_t last);
  void decide();
  void set_state(const char* state, const nlohmann::json& baseline, const char* what);

  const std::vector<Point>& points_;
  double tolerance_;
  std::vector<double> logs_;
  std::optional<nlohmann::json> promoted_;
  std::optional<double> since_;  ///< time of the promotion
  std::size_t level_start_ = 0;  ///< the first point of the promoted level
  std::size_t accepted_ = 0;     ///< changes up to this point were accepted by the promotion
  std::span<const Point> latest_, before_;
  std::optional<Trend> trend_;  ///< only where it is significant
  nlohmann::json changes_ = nlohmann::json::array(), anchored_, rolling_;
  std::string changes_reason_, anchored_reason_, rolling_reason_, reason_, state_ = "too short";
};

}  // namespace assay
