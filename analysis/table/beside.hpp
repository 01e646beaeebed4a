#pragma once
// The numbers of other systems for a series, their ratios, and the explanations of both.

#include <optional>
#include <string>
#include <vector>

#include "analysis/table/cells.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// Another system's number for a row; nothing if there is none.
using Match = std::optional<RowBaseline>;

/// A system whose numbers are shown beside the rows. By default these are the baselines in the
/// rows.
struct System {
  std::string name;
  const Baseline* baseline = nullptr;
};
/// `baselines`, else the systems that the rows contain.
std::vector<System> list_systems(const SeriesList& all, const std::vector<Baseline>& baselines);

/// The number of `system` for a series, as returned by Baseline::match; the reason goes to `why` if
/// there is none.
Match beside(const Series& series, const System& system, std::string* why = nullptr,
             Preference preference = Preference::same_way);
Quantity make_quantity(const RowBaseline& match);
/// "*" of a published number, "‡" of a projection.
std::string mark_published(const RowBaseline& match);

/// The mark of a ratio that its source prints, but that contradicts the source's own numbers.
inline constexpr const char* printed_mark = "\u2020";
/// The marks of a ratio: the more severe mark of its two sides; "?" if the other side does not
/// specify the work completely; "†" if its source prints another ratio. The legend explains the
/// last two. `name`: the other system.
std::string format_ratio_marks(const Series& series, const RowBaseline& match,
                               const std::string& name, Legend& legend);
/// "2.50"; with both absolute values "2.50 (5.00 s / 2.00 s)".
std::string format_ratio_cell(const std::string& ratio, bool absolutes, const Quantity& over,
                              const Quantity& under);
/// Explains the mark of a projection, if the row, or the number with which it is compared, is one.
void explain_projection(const std::string& system, const Row& row, Legend& legend);
void explain_projection(const std::string& system, const RowBaseline& match, Legend& legend);

/// "conv resnet50:res2a", the same on every system.
std::string benchmark_and_problem(const Row& row);
/// "No problem is common with B: …" if the rows and a baseline have no problem in common; "" if
/// they have one, or if there is no row.
std::string explain_nothing_common(const SeriesList& all, const std::vector<Baseline>& baselines);
/// The same for results that are shown beside each other as systems (a parameter "system" of the
/// rows): a line for each that has no problem in common with any other.
std::string explain_nothing_common_by_system(const Results& results, const SeriesList& all);

}  // namespace assay
