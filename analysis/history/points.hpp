#pragma once
// Results of many runs as series: one per row id and hardware, one point a run.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/times.hpp"
#include "analysis/pattern.hpp"
#include "analysis/series.hpp"

namespace assay {

struct Point {
  double time = 0;   ///< run.started, seconds since 1970
  std::string when;  ///< as it stands in the file
  std::string run;
  double value = 0;                ///< median of the launches' medians, seconds
  std::optional<Interval> spread;  ///< of the launches; nothing with one launch
  std::size_t launches = 0;
  nlohmann::json software_hash;
  nlohmann::json software;
  bool shared = false;
  std::string programs;  ///< folder of the executables, where the run tells it
  std::string file;      ///< of the result
};

/// A run that holds the row without a number. Nothing is put in its place.
struct Gap {
  double time = 0;
  std::string when, run, status, reason;
};

struct RowHistory {
  std::string id, benchmark, descriptor, hardware, system;
  nlohmann::json names;
  std::optional<double> tolerance;  ///< of its suite, in the last run that tells one
  std::vector<Point> points;        ///< by time
  std::vector<Gap> gaps;            ///< by time
};

struct Histories {
  std::vector<RowHistory> series;  ///< by id and hardware
  std::vector<std::pair<std::string, std::string>>
      passed_over;  ///< what has no place in a history, and why
};

/// Clocks of machines differ by less than this many seconds, unless one is wrong.
inline constexpr double clock_slack = 3600;

/// `rows`: an id must hold it. `since`: seconds since 1970. InputError for two runs of one id (run)
/// or, in one series, of one time; for a run that ended before it began, or that lies in the future
/// of `now` (seconds since 1970); and for one row id with two problems.
Histories histories_of(const std::vector<NamedResult>& results, const std::optional<Pattern>& rows,
                       std::optional<double> since, double now = seconds_now());

}  // namespace assay
