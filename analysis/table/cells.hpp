#pragma once
// Several tables use these parts: the title, the number of a series with its unit and marks, the
// numbers of other systems for it, and their explanations.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// A time, or the rate that a published row has instead; unit "" where there is no number.
struct Quantity {
  double value = 0;
  std::string unit;
};
Quantity quantity_of(const Series& series);
/// "ok" where there is a number; its reason is then empty.
std::string status_of(const Series& series);

/// "1.90 s", "905 images/s".
std::string human_quantity(const Quantity& quantity);
/// With the marks of the legend: * published, ! timed on a busy machine, ~ oversubscribed.
std::string marked_quantity(const Series& series);

/// "1.5e-07", the largest of its launches; "published", or "-" where nothing was verified.
std::string error_cell(const Series& series);
bool has_error(const Series& series);
std::optional<double> largest_error(const Series& series);
inline constexpr const char* error_note = "error: largest error / RMS of the fp64 reference.";

/// "conv resnet50:res2a", the same on every system.
std::string benchmark_and_problem(const nlohmann::json& row);

/// "No problem is common with B: …" where the rows and a baseline have none; "" where they have, or
/// there is no row.
std::string nothing_common(const std::vector<Series>& all, const std::vector<Baseline>& baselines);
/// The same of results that stand beside each other as systems (prepared()): of each that has no
/// problem in common with any other.
std::string nothing_common_by_system(const std::vector<NamedResult>& results,
                                     const std::vector<Series>& all);

/// Another system's number for a series as Baseline::match gives it, null with the reason in `why`.
/// With `system` and no `baseline`: the number that the row itself holds of it.
nlohmann::json beside(const Series& series, const Baseline* baseline, const std::string& system,
                      std::string* why = nullptr, Preference preference = Preference::same_way);
Quantity quantity_of(const nlohmann::json& match);

/// The mark of a ratio: the more severe mark of its two sides, and "?" if the other side does not
/// specify the work completely. `match` may be null.
std::string ratio_mark(const Series& series, const nlohmann::json& match);
/// "2.50", with both absolutes "2.50 (5.00 s / 2.00 s)".
std::string ratio_cell(const std::string& ratio, bool absolutes, const Quantity& over,
                       const Quantity& under);

/// "*" of a published number, "‡" of a projection, which nobody measured.
std::string published_mark(const nlohmann::json& row_or_match);

inline constexpr const char* printed_mark = "\u2020";
/// The legend's line for a ratio that its source prints and that its own numbers contradict.
std::string printed_note(const Series& series, const nlohmann::json& match);

/// Adds the columns "result" and "benchmark" where there are several; the lines of the table are
/// those of the series.
void add_origin(Table& table, const std::vector<NamedResult>& results,
                const std::vector<Series>& rows);

/// Whether the series are of several benchmarks.
bool several_benchmarks(const std::vector<Series>& all);

/// "3 ok, 1 failed"
std::string counts(const std::vector<Series>& all);

inline constexpr const char* no_verdict = "`assay compare` tells whether a difference is real.";
inline constexpr const char* published_note =
    "* published, not measured by Assay: no samples, no interval.";

/// Explains the mark of a projection, if the row is one.
void explain_projection(const std::string& system, const nlohmann::json& row, Legend& legend);
/// The same of the number that a row is compared with.
void explain_projected(const std::string& system, const nlohmann::json& match, Legend& legend);
/// Explains the mark "?" of a ratio whose other side does not specify the work completely.
void explain_not_given(const std::string& system, const nlohmann::json& match, Legend& legend);

/// The systems, suites and times of the results, and the lines of `constants`.
void add_title(Page& page, const std::vector<NamedResult>& results,
               const std::vector<std::string>& constants);

}  // namespace assay
