#pragma once
// Result files as tables for people.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

struct TableOptions {
  bool markdown = false;
  std::string by{};        ///< a parameter whose values become columns ("precision"), or ""
  bool absolutes = false;  ///< both absolute values in every cell that has a ratio
  /// Columns by their keys, in this order; all_columns: every column, and unsupported rows are not
  /// folded; {}: the columns that tell rows apart. With `by`, only parameters can be chosen.
  std::vector<std::string> columns{};
  std::vector<std::string> filter{};  ///< clauses as of filtered()
  std::string sort{};                 ///< as of sort_by()
};
inline const std::vector<std::string> all_columns{"all"};

/// One line per id (or, with `by`, per id without that parameter): value, interval, rate, error,
/// and beside each other system's number its absolute value and the speedup. A row that is not ok
/// shows its reason, never a number. Without `baselines` those that the rows hold are shown. With
/// `by` and `baselines`: the baselines' values of that parameter as columns (crossed.hpp). `by` may
/// be "system": a column for each result. By "precision" a line for each precision of a problem
/// (precision_table.hpp). InputError for a `by` that no row has.
std::string render_table(std::vector<NamedResult> results, const std::vector<Baseline>& baselines,
                         const TableOptions& options);

/// The same numbers for other programs: a record for each series and each number beside it, all
/// digits, SI units without prefixes. CSV, or JSON by table.schema.json. Of the options `by`,
/// `filter` and `sort` count.
std::string render_csv(std::vector<NamedResult> results, const std::vector<Baseline>& baselines,
                       const TableOptions& options);
nlohmann::json table_document(std::vector<NamedResult> results,
                              const std::vector<Baseline>& baselines, const TableOptions& options);

/// The systems to show beside the rows: `baselines`, else those that the rows contain.
std::vector<std::pair<std::string, const Baseline*>> systems_of(
    const std::vector<Series>& all, const std::vector<Baseline>& baselines);

/// Prepares the results for `by`: for "system", each row gets a parameter "system" (if two results
/// are of one system, the part of their names in which these differ).
std::vector<NamedResult> prepared(std::vector<NamedResult> results, const std::string& by);

/// The series of the results, filtered and sorted by `options`.
std::vector<Series> selected(const std::vector<NamedResult>& results, const TableOptions& options);

}  // namespace assay
