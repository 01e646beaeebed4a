#pragma once
// Judges series and renders them: levels, steps and drift of each series, compared with its
// anchored and its rolling baseline.
//
// The states slower, drifting and faster need a change point or a trend that is significant at the
// level of the series, and the latest points outside of the tolerance. All series together then
// keep the declared false-alarm rate. The state suspect comes earlier, in the run in which a step
// happens, when nothing can be significant yet. It asks a question that fresh launches of both
// builds answer (analysis/history/confirm.hpp).

#include <optional>
#include <string>
#include <vector>

#include "analysis/history/anchors.hpp"
#include "analysis/history/points.hpp"

namespace assay {

/// The probability of a false alarm: in any of all series a change point, a trend, or a state based
/// on one is found, although nothing changed.
inline constexpr double false_alarm_rate = 0.05;
/// The number of last points that decide a state: all of them must be outside of the tolerance, so
/// a single outlier never causes an alarm.
inline constexpr std::size_t latest_points = minimum_segment;
/// Points before the latest ones that form the rolling baseline (at least as many as the latest
/// points).
inline constexpr std::size_t rolling_points = 8;
/// Points that a series needs to be judged. As many form its anchor if none was promoted. With
/// fewer, two outliers would look like a level.
inline constexpr std::size_t anchor_points = 8;
/// At most this many undisturbed points before a suspect step are its reference.
inline constexpr std::size_t reference_points = 40;
/// The fraction of the tolerance from which on a value is suspect. Noise may make a run faster, so
/// the limit must be below the tolerance to detect a step of the whole tolerance: with noise of a
/// fifth of the tolerance, it is detected in 95 % of the series (docs/method.md has the rates).
inline constexpr double suspect_margin = 0.6;
/// A level counts as persistent if it has so many undisturbed points near each other. It is then a
/// mode of the machine, and its next value is not suspect.
inline constexpr std::ptrdiff_t level_points = 3;
/// Declared rate of suspects, for each run of a series of 8 to 52 points in which nothing changed,
/// also with outliers or modes. A mode with a small probability q is suspect while the reference
/// has fewer than level_points of its points: in at most 3.4 % of the runs with 40 points, and in
/// up to 17 % with 8.
inline constexpr double suspect_rate = 0.07;

/// `promoted`: the promoted baseline; nullptr if there is none. `level`: the probability of any
/// change point or trend if nothing changed.
SeriesVerdict judge_series(const RowHistory& series, const Anchor* promoted, double level,
                           double tolerance);

/// Judges each series. `tolerance`: for all rows; by default that of each row, else 0.05. The exit
/// code is 4 if a series is slower or drifting, 3 if the last run of a series is incorrect, 7 if it
/// failed, 6 if its result is lost, and 6 if there is no series. A series that is too short or
/// suspect does not change the exit code.
History judge_history(History history, const Anchors& anchors, const std::vector<Event>& events,
                      std::optional<double> tolerance = std::nullopt);

/// The exit code for the last run of a row if it has no result; an earlier result never hides this.
ExitCode last_run_code(const RowHistory& series);

/// The history as text, for people.
std::string render_history(const History& history, bool markdown);
/// JUnit XML of the last runs: a testsuite per benchmark, a testcase per series. failure:
/// incorrect, slower, drifting, lost, and suspects that were confirmed; error: failed, and suspects
/// that could not be confirmed; skipped: unsupported.
std::string render_history_junit(const History& history);
/// The points of all series as CSV, a line per point.
std::string render_history_csv(const History& history);

}  // namespace assay
