#pragma once
// The document of `assay compare` (results-schema/comparison.schema.json describes its fields),
// computed and rendered. Ratios are ratios of times, new over base; times are in seconds.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparable.hpp"
#include "analysis/compare/verdict.hpp"
#include "core/base/error.hpp"

namespace assay {

/// The tolerance if neither the command line nor the suite sets one (a fraction of the time).
inline constexpr double usual_tolerance = 0.02;

struct CompareOptions {
  std::string command;
  Variation vary{};
  std::optional<double> tolerance;  ///< overrides that of the suite
  double false_alarm_rate = 0.01;
  bool allow_mismatch = false;
};

/// The launches on which numbers and verdicts are based: those of the screen, or fresh ones.
enum class LaunchStage { screen, confirmed };

/// The launches of a row on one side.
struct SideTimes {
  double median = 0;
  std::size_t launches = 0;  ///< 0: a published number
  std::optional<double> variation{};
  bool shared = false, throttled = false;
};

struct TimeRatio {
  double ratio = 1;
  std::optional<Interval> interval{};
  std::optional<double> p{};
};

struct ComparedRow {
  std::string id;
  std::vector<std::string> names{};
  std::string unit = "s";
  SideTimes base{}, updated{};
  TimeRatio times{};
  std::optional<double> speedup{};
  std::optional<Interval> speedup_interval{};
  std::optional<double> p_limit{}, minimum_detectable{};
  double tolerance = usual_tolerance;
  LaunchStage stage = LaunchStage::screen;
  bool flagged = false, detected = false;
  std::optional<TimeRatio> screen{};  ///< of a confirmed row
  std::optional<Verdict> verdict{};   ///< nothing for published numbers
  std::string reason{};               ///< why it is inconclusive or without verdict
  bool published = false;
  std::vector<std::string> notes{};
};

/// A row that was not compared. Each list of a comparison uses some of the fields.
struct Entry {
  std::string id;
  std::optional<std::vector<std::string>> names{};
  std::string status{};                     ///< of a row that only one side has
  std::string base_status{}, new_status{};  ///< of a row that both have
  std::string reason{};
};

/// The geometric mean of the speedups of new over base.
struct MeanSpeedup {
  double speedup = 1;
  std::optional<Interval> interval{};
  std::string interval_reason{};  ///< why there is none
  std::size_t rows = 0, base_rows = 0;
};

struct Comparison {
  struct Settings {
    double false_alarm_rate = 0.01, tolerance = usual_tolerance;
    double confidence = compare_confidence, screen_p = assay::screen_p, power = compare_power;
    std::size_t flagged = 0;
    std::optional<double> confirmed_p{};  ///< nothing if no row is flagged
  };
  std::string schema = "assay-comparison/1", command{};
  SideSummary base{}, updated{};
  std::optional<SideSummary> fresh_base{}, fresh_new{};
  std::string vary{};
  bool allow_mismatch = false;
  bool refused = false;  ///< true if mismatches prevented any comparison
  std::vector<Mismatch> mismatches{};
  std::vector<std::string> notes{};
  LaunchStage stage = LaunchStage::screen;
  Settings settings{};
  std::vector<ComparedRow> rows{};
  std::vector<Entry> only_base{}, only_new{}, not_compared{};
  std::vector<Entry> lost{};  ///< base has a result; in new the row is unsupported or missing
  std::optional<MeanSpeedup> geometric_mean{};
  std::string geometric_mean_reason{};  ///< why there is none
  /// Numbers of rows: by the name of their verdict, "without_verdict", "needs_confirmation".
  std::map<std::string, std::size_t> summary{};
  ExitCode exit_code = ExitCode::ok;
};
void to_json(nlohmann::json& json, const Comparison& comparison);
/// json::exception if a field has another type; files are checked before.
void from_json(const nlohmann::json& json, Comparison& comparison);

/// `fresh_base` and `fresh_new` are the launches that confirm flagged rows: both null, or both
/// given. InputError as for check_runs().
Comparison compare_sides(const Side& base, const Side& updated, const Side* fresh_base,
                         const Side* fresh_new, const CompareOptions& options);

/// Ids of the flagged rows of a side that have no fresh launches. (The ids of the two sides differ
/// if a parameter varies.)
std::vector<std::string> list_flagged_ids(const Comparison& comparison, const Side& side);

/// `base` and `updated`: the sides of the comparison; their rows have the parameters of its rows.
std::string render_comparison(const Comparison& comparison, const Side& base, const Side& updated,
                              bool markdown, bool latex = false);
/// The rows as CSV, then those that were not compared; low and high: of the speedup.
std::string render_comparison_csv(const Comparison& comparison);

}  // namespace assay
