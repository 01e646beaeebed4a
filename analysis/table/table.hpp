#pragma once
// Result files as tables for people.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/table/axes.hpp"
#include "core/result/baseline.hpp"

namespace assay {

struct TableOptions {
  bool markdown = false;
  std::string by{};        ///< a parameter whose values become columns ("precision"), or ""
  bool absolutes = false;  ///< both absolute values in every cell that has a ratio
  /// Columns by their keys, in this order. all_columns: every column, and unsupported rows are not
  /// folded; {}: the columns that distinguish rows. With `by`, only parameters can be chosen, and
  /// "rate": the columns of the values then have rates, without ratios.
  Texts columns{};
  Texts filter{};      ///< clauses as of filter_series()
  std::string sort{};  ///< as of sort_by()
  bool latex = false;

  /// True if there is room for every column.
  bool any_width() const { return markdown || latex; }
};
inline const Texts all_columns{"all"};

/// The series for which every clause holds. "KEY=PATTERN": the whole value matches the expression;
/// "KEY!=PATTERN": it does not; a clause without "=" is searched for in the id and in the problem's
/// name. A key is a parameter, benchmark, problem (its name or descriptor), id, status, result or
/// system. InputError with the nearest key, or if no series is left.
SeriesList filter_series(const Results& results, SeriesList all, const Texts& clauses);
/// Sorts rows by "KEY" or "KEY:desc": a key as above, time, rate or error. Numbers are sorted
/// numerically, and a series without a value is last. "" leaves the order.
void sort_by(const Results& results, SeriesList& all, const std::string& order);
/// The series of the results, filtered and sorted by `options`. If options.by is "system", each row
/// gets this parameter. If two results have the same system, the value is the part in which their
/// names differ.
SeriesList select_series(const Results& results, const TableOptions& options);

/// One line per id (or, with `by`, per id without that parameter): value, interval, rate and error;
/// for each other system its absolute value and the speedup. A row that is not ok shows its reason,
/// never a number. Without `baselines`, the baselines in the rows are shown. `by` with `baselines`
/// shows the baselines' values of that parameter as columns (crossed.hpp). `by` may be "system": a
/// column for each result. `by` "precision" makes a line for each precision of a problem
/// (precision_table.hpp). InputError for a `by` that no row has.
std::string render_table(const Results& results, const std::vector<Baseline>& baselines,
                         const TableOptions& options);

/// The same numbers for other programs: a record for each series and each number beside it, all
/// digits, SI units without prefixes. CSV, or JSON by table.schema.json. Only the options `by`,
/// `filter` and `sort` count.
std::string render_csv(const Results& results, const std::vector<Baseline>& baselines,
                       const TableOptions& options);
nlohmann::json table_document(const Results& results, const std::vector<Baseline>& baselines,
                              const TableOptions& options);

/// `assay table --layers`: for each selected row with layers, from the launch with the median time,
/// its operations by kind and direction, then every layer, the longest first. InputError if no
/// selected row has layers.
std::string render_layer_table(const Results& results, const TableOptions& options);
/// Every layer of these launches: all digits, SI units without prefixes.
RecordList make_layer_records(const Results& results, const TableOptions& options);

/// `assay table --epochs`: loss and accuracy of the selected trainings, a line for each epoch, a
/// column for each value of `by` (precision without it). InputError if no selected row has epochs.
std::string render_epoch_table(const Results& results, const TableOptions& options);
/// Every epoch of every launch.
RecordList make_epoch_records(const Results& results, const TableOptions& options);

/// `assay table --blame`: which ranks the other ranks of the selected rows waited for. InputError
/// if no selected row reports it.
std::string render_blame(const Results& results, const TableOptions& options);
/// The numbers of every rank of these rows.
RecordList make_blame_records(const Results& results, const TableOptions& options);

/// `assay table --matrix`: the matrices of the selected rows (analysis/evidence.hpp), each below
/// its title. InputError if these rows have none.
std::string render_matrix(const Results& results, const TableOptions& options);
/// Every number of them, in SI units without prefixes: matrix, line, column, value.
RecordList make_matrix_records(const Results& results, const TableOptions& options);

}  // namespace assay
