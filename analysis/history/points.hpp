#pragma once
// Results of many runs as series: a series per row id and hardware, a point per run.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/times.hpp"
#include "analysis/pattern.hpp"
#include "analysis/series.hpp"

namespace assay {

struct Point {
  double time = 0;   ///< run.started, seconds since 1970; of the run `last`: see histories_of
  std::string when;  ///< as written in the file
  std::string run;
  double value = 0;                ///< median of the launches' medians, seconds
  std::optional<Interval> spread;  ///< of the launches; nothing with a single launch
  std::size_t launches = 0;
  nlohmann::json software_hash;
  nlohmann::json software;
  bool shared = false, throttled = false;  ///< any of its launches
  std::string programs;                    ///< folder of the executables; "": unknown
  std::string file;                        ///< result file
  std::string library;                     ///< that `--blas auto` found; "": none, or unknown
  int statistics = 1;  ///< version of the estimators that made `value`: statistics_of()
  bool disturbed() const { return shared || throttled; }
};

/// A run in which the row has no result. Gaps are never filled.
struct Gap {
  double time = 0;
  std::string when, run, status, reason;
};

struct RowHistory {
  std::string id, benchmark, descriptor, hardware, system;
  nlohmann::json names;
  std::optional<double> tolerance;  ///< of the suite of the last run that has one
  std::vector<Point> points;        ///< by time; all of one version of the statistics
  std::vector<Gap> gaps;            ///< by time
};

struct Histories {
  std::vector<RowHistory> series;  ///< by id and hardware
  /// Runs and rows that cannot be part of a history, each with the reason.
  std::vector<std::pair<std::string, std::string>> passed_over;
};

/// The name of a result in messages.
std::string shown_name(const NamedResult& result);

/// Seconds by which a run may be in the future, since the clocks of two machines may differ.
inline constexpr double clock_slack = 3600;

/// `rows`: only ids that contain a match. `since`, `now`: seconds since 1970. InputError for two
/// runs with the same run id, for two runs of a series at the same time, for a run that ended
/// before it began or that is in the future of `now`, and for a row id that has two problems.
///
/// `last`: the id of the run that counts as the last of its series even if another began later by
/// the clock, which may be a job beside it or a node whose clock is ahead. Its time is then just
/// after that of all other runs.
Histories histories_of(const std::vector<NamedResult>& results, const std::optional<Pattern>& rows,
                       std::optional<double> since, double now = seconds_now(),
                       const std::string& last = "");

}  // namespace assay
