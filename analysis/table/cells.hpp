#pragma once
// The common parts of several tables: the title, the number of a series with its unit and marks,
// its error, its rate and its fraction of the ceiling.

#include <optional>
#include <string>

#include "analysis/page.hpp"
#include "analysis/table/axes.hpp"

namespace assay {

/// A time, or the rate that a published row has instead; unit "" if there is no number.
struct Quantity {
  double value = 0;
  std::string unit;
};
Quantity make_quantity(const Series& series);
/// "ok" if there is a number; its reason is then empty.
std::string find_status(const Series& series);
/// True if there is a number.
bool has_number(const Series& series);

/// "1.90 s", "905 images/s".
std::string format_quantity(const Quantity& quantity);
/// The same for a series, with the marks of the legend: * published, ! timed on a busy machine, ~
/// oversubscribed.
Cell format_value_cell(const Series& series);
/// "*" of a published row, "‡" of a projection, which nobody measured.
std::string mark_published(const Row& row);

/// "1.5e-07", the largest of its launches; "published"; or "-" if nothing was verified.
Cell format_error_cell(const Series& series);
std::optional<double> largest_error(const Series& series);
inline constexpr const char* error_note = "error: largest error / RMS of the fp64 reference.";

/// The main rate of a row: bus bandwidth of a collective; a rate that its problem declares
/// (images_per_s); FLOP/s, or B/s if the problem moves more bytes than it executes operations
/// (STREAM); else the first rate of the row. A published row may have a rate and no time. The
/// legend gets the meaning of the rate.
Cell format_rate_cell(const Series& series, Legend& legend);
std::optional<double> main_rate(const Series& series);

/// algbw or busbw of a collective, in separate columns.
Cell format_bandwidth_cell(const Series& series, const std::string& name, Legend& legend);

/// "87 % memory": the fraction of the ceiling, and the resource that limits the row; "-" without a
/// ceiling.
Cell format_ceiling_cell(const Series& series, Legend& legend);
/// Adds to the legend, for each machine whose rows have ceilings, the measured ceilings and the
/// theoretical ones from the vendor's documents.
void note_ceilings(const Results& results, const SeriesList& all, Legend& legend);

/// True if a table may fold the series: it is unsupported, and its suite does not require it.
bool may_fold(const Series& series);
/// "6 unsupported rows are not shown [1] [2]". Each footnote has a reason, and the properties that
/// the rows with this reason share. "" without rows.
std::string fold_lines(const SeriesList& folded, const SeriesList& all, Legend& legend);

/// Adds the columns "result" and "benchmark" where there are several; the lines of the table are
/// those of the series.
void add_origin(Table& table, const Results& results, const SeriesList& rows);
bool several_benchmarks(const SeriesList& all);
/// "3 ok, 1 failed"
std::string counts(const SeriesList& all);
/// The systems, suites and times of the results that have a row in `all` (of each, if it is empty),
/// and the lines of `constants`.
void add_title(Page& page, const Results& results, const SeriesList& all, const Texts& constants);

inline constexpr const char* no_verdict = "`assay compare` tells whether a difference is real.";
inline constexpr const char* published_note =
    "* published, not measured by Assay: no samples, no interval.";

}  // namespace assay
