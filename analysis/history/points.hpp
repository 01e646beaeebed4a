#pragma once
// The history of a machine: results of many runs as series, with a series for each row id and
// hardware, and a point for each run. Once it is judged (history.hpp), it is the document of `assay
// history` (results-schema/history.schema.json).

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/change_points.hpp"
#include "analysis/pattern.hpp"
#include "analysis/series.hpp"
#include "core/base/error.hpp"

namespace assay {

/// Seconds since 1970 of a date (2026-11-21) or an RFC 3339 time in UTC (2026-11-21T07:04:45.123Z).
/// InputError, starting with `where`, for anything else.
double parse_time(const std::string& text, const std::string& where);

/// Seconds since 1970, by the clock of this machine.
double seconds_now();

struct Point {
  double time = 0;     ///< run.started, seconds since 1970; for the run `last` see
                       ///< collect_history()
  std::string when{};  ///< as written in the file
  std::string run{};
  double value = 0;                     ///< median of the launches' medians, seconds
  std::optional<double> low{}, high{};  ///< of the launches; nothing with a single launch
  std::size_t launches = 0;
  std::string software_hash{};  ///< "": unknown
  nlohmann::json software{};
  bool shared = false, throttled = false;  ///< true for any of its launches
  std::string programs{};                  ///< folder of the executables; "": unknown
  std::string file{};                      ///< result file
  std::string library{};  ///< the library that `--blas auto` found; "": none, or unknown
  int statistics = 1;     ///< version of the estimators that computed `value`
  bool is_disturbed() const { return shared || throttled; }
};

/// A run in which the row has no result. Gaps are never filled.
struct Gap {
  double time = 0;
  std::string when{}, run{}, status{}, reason{};
};

struct Event {
  double time = 0;
  std::string when{}, text{}, hardware{};  ///< hardware "": the event concerns all machines
  std::string kind = "event";              ///< or "software": it changed between two points
};

/// A change point as the document has it; times in seconds.
struct LevelChange {
  std::string when{};
  std::size_t index = 0;  ///< of the first point after the change
  double before = 0, after = 0, ratio = 1, p = 1;
};

/// The last points, which are judged.
struct LatestLevel {
  double value = 0, low = 0, high = 0;  ///< median, least, greatest, seconds
  std::size_t points = 0;
  std::string since{};
};

/// A baseline, compared with the latest level.
struct BaselineLevel {
  double value = 0;     ///< seconds
  double ratio = 1;     ///< latest / value
  std::string state{};  ///< slower, faster, steady
};
struct AnchoredLevel : BaselineLevel {
  bool promoted = false;
  std::string since{}, owner{}, reason{}, run{};  ///< owner, run: "" if there is none
};
struct RollingLevel : BaselineLevel {
  std::size_t points = 0;
};

/// The state of a series, and its reasons. A reason beside a value is "" if the value exists.
struct SeriesVerdict {
  double tolerance = 0;
  std::vector<LevelChange> changes{};
  std::string changes_reason{};
  std::optional<Trend> trend{};  ///< only if it is significant
  std::optional<LatestLevel> latest{};
  std::optional<AnchoredLevel> anchored{};
  std::string anchored_reason{};
  std::optional<RollingLevel> rolling{};
  std::string rolling_reason{};
  /// Time of the last run over the promoted level; nothing if none was promoted.
  std::optional<double> last_ratio{};
  std::string state = "too short", reason{};
  /// The ratio of times that the state reports: latest / baseline; for a suspect, last / level.
  std::optional<double> size{};
};

/// The answer of fresh launches on a suspect (confirm.hpp); without numbers if it is "unconfirmed".
struct Confirmation {
  std::string answer{}, reason{};
  std::optional<double> ratio{};  ///< time of the new build / time of the promoted build
  std::optional<std::array<double, 2>> interval{};  ///< of the ratio, 95 %
  std::optional<double> p{}, base_s{}, new_s{}, level_s{};
};

struct RowHistory {
  std::string id{}, benchmark{}, descriptor{}, hardware{}, system{};
  std::vector<std::string> names{};
  std::optional<double> tolerance{};  ///< of the suite of the last run that has one
  std::vector<Point> points{};        ///< by time; all with one version of the statistics
  std::vector<Gap> gaps{};            ///< by time
  // The following is empty until the series is judged.
  std::vector<Event> events{};
  SeriesVerdict verdict{};
  std::optional<Confirmation> confirmation{};

  /// The last gap, if the last run has no result; otherwise nullptr.
  const Gap* last_gap() const;
  /// The reason for the state; for a suspect also whether --confirm decides or has decided.
  std::string describe_reason() const;
};

/// A run or row that cannot be part of a history.
struct SkippedSource {
  std::string what{}, reason{};
};

struct HistorySettings {
  double tolerance = 0.05;  ///< tolerance of rows without their own
  double level = 0;         ///< share of false_alarm_rate for a series
};

struct History {
  std::string command{};
  HistorySettings settings{};
  std::vector<RowHistory> series{};  ///< by id and hardware
  std::vector<SkippedSource> passed_over{};
  ExitCode code = ExitCode::ok;

  /// The number of series in a state.
  std::size_t count(const std::string& state) const;
};

void to_json(nlohmann::json& json, const History& history);
void from_json(const nlohmann::json& json, History& history);

/// The name of a result in messages.
std::string name_result(const NamedResult& result);

/// Number of seconds by which a run may be in the future, because the clocks of two machines may
/// differ.
inline constexpr double clock_slack = 3600;

/// `rows`: only ids that contain a match. `since`, `now`: seconds since 1970. InputError for two
/// runs with the same run id, for two runs of a series at the same time, for a run that ended
/// before it began or that is in the future of `now`, and for a row id that has two problems.
///
/// `last`: the id of the run that counts as the last of its series, even if another run began later
/// by the clock: that may be a concurrent job, or a node whose clock is ahead. Its time is then
/// just after that of all other runs.
History collect_history(const Results& results, const std::optional<TextPattern>& rows,
                        std::optional<double> since, double now = seconds_now(),
                        const std::string& last = "");

/// Doubts about which run was the last, because clocks differ: a line for each pair of runs whose
/// clocks do not tell the last run of a series, and for each last run that began in the future of
/// `now`. If there are many, only the first ones and their number. Two runs of one host have one
/// clock. Those of two hosts are in order only if one had ended, by its own clock, before the other
/// began.
std::vector<std::string> find_order_doubts(const Results& results, const History& history,
                                           double now = seconds_now());

}  // namespace assay
