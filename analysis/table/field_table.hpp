#pragma once
// The tables with a line for each series: their columns, the choice of columns, width, footnotes,
// and legend.

#include <functional>
#include <string>
#include <vector>

#include "analysis/table/axes.hpp"
#include "analysis/table/beside.hpp"

namespace assay {

struct TableOptions;

/// A table that is too wide first loses the columns whose Column::spare is at least this: numbers
/// that say more about a row, but not how fast it is. Only if this does not suffice is the table
/// split, or does it lose another system's numbers, then the interval, then the rate.
inline constexpr int spared_first = 4;

/// A column, and the function that makes its cells. A measured column is left out if it is empty
/// for all rows.
struct Field : Column {
  bool shown = true;  ///< without --columns
  std::function<Cell(const Series&, Legend&)> cell;
  /// True if the legend keeps the lines of a column that is left out because it is empty.
  bool explains_missing = false;
};

/// The input of the fields. The results must outlive them.
struct FieldSource {
  const Results& results;
  const SeriesList& all;
  const Axes& axes;
  std::vector<System> systems{};
  bool absolutes = false;
};

/// All fields, in the order of a table: what was run, then what was measured, then the numbers of
/// other systems.
std::vector<Field> list_fields(const FieldSource& source);
/// Only the fields of the first kind: what was run.
std::vector<Field> fields_of_case(const Results& results, const SeriesList& all, const Axes& axes);

/// The problem list to which all problems belong ("deepbench-train"), else "".
std::string format_common_list(const SeriesList& all);
/// A key that distinguishes a series from all others of the results.
std::string make_key(const Series& series);

struct FieldTable {
  SeriesList rows;      ///< a line for each
  SeriesList folded{};  ///< unsupported rows, summarised in one line
  /// Makes the columns of these rows: of all, or of those of one benchmark. `axes`: the parameters
  /// that differ between them.
  std::function<std::vector<Field>(const SeriesList& rows, const Axes& axes)> fields;
  std::string by{};   ///< a parameter without a column of its own
  Texts headings{};   ///< by row: a line above it, unless empty; {}: none
  Texts constants{};  ///< properties of all rows beside their parameters
  Legend legend{};    ///< lines before those of the columns
  /// True if each benchmark may have its own table if a common one would be too wide.
  bool may_split = true;
  /// True if problems may be lines above their rows instead of a column, if the table is too wide:
  /// the rows are in the order of their problems.
  bool problems_may_head = false;
  /// Advice on how to see the columns that do not fit on a terminal.
  const char* to_see_all = "--columns all shows them";
};

/// Prints title, table and legend. The columns are those of options.columns or, by default, the
/// fields that are shown; on a terminal without spare ones if the table would be wider than
/// table_width. `all`: the rows of the results, including those that the table does not show.
void add_field_table(Page& page, const Results& results, const SeriesList& all,
                     const FieldTable& table, const TableOptions& options);

/// The rows of each benchmark, in the order in which the benchmarks appear.
std::vector<SeriesList> by_benchmark(const SeriesList& rows);
/// The line above the table of a benchmark: its name, and properties of its rows.
void add_part_title(Page& page, const SeriesList& rows, const Texts& properties);
/// The end of such tables: a line about the folded rows, and the notes of the legend.
void add_end(Page& page, const SeriesList& folded, const SeriesList& all, Legend& legend);

}  // namespace assay
