#pragma once
// The tables with a line for each series: their columns, and the choice of these, width, footnotes,
// legend.

#include <functional>
#include <string>
#include <vector>

#include "analysis/table/axes.hpp"
#include "analysis/table/beside.hpp"

namespace assay {

struct TableOptions;

/// The least Column::spare of the columns that a table which is too wide goes without: numbers that
/// say more about a row, and none about how fast it is. Only where this does not suffice is a table
/// taken apart, or does it lose another system's numbers, the interval, then the rate.
inline constexpr int spared_first = 4;

/// A column, and how its cells are made. It is left out if it is measured and empty for all.
struct Field : Column {
  bool shown = true;  ///< without --columns
  std::function<Cell(const Series&, Legend&)> cell;
  /// True if the legend keeps its lines where the column is left out because it is empty.
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
/// The fields of the first kind alone: what was run.
std::vector<Field> fields_of_case(const Results& results, const SeriesList& all, const Axes& axes);

/// The problem list that all problems are from ("deepbench-train"), else "".
std::string common_list(const SeriesList& all);
/// Tells a series from all others of the results.
std::string make_key(const Series& series);

struct FieldTable {
  SeriesList rows;      ///< a line for each
  SeriesList folded{};  ///< unsupported rows, summarised in one line
  /// Makes the columns of these rows: of all, or of those of one benchmark. `axes`: the parameters
  /// that differ between them.
  std::function<std::vector<Field>(const SeriesList& rows, const Axes& axes)> fields;
  std::string by{};   ///< a parameter without a column of its own
  Texts headings{};   ///< by row: a line above it, where not empty; {}: none
  Texts constants{};  ///< properties of all rows beside their parameters
  Legend legend{};    ///< lines before those of the columns
  /// True if each benchmark may have a table of its own where one of all would be too wide.
  bool may_split = true;
  /// True if problems may be lines above their rows instead of a column, if the table is too wide:
  /// the rows are in the order of their problems.
  bool problems_may_head = false;
  /// Advice on seeing the columns that a terminal has no room for.
  const char* to_see_all = "--columns all shows them";
};

/// Title, table and legend. Columns as options.columns says; without it the fields that are shown,
/// on a terminal without spare ones where the table would be wider than table_width. `all`: the
/// rows of the results, with those that the table does not show.
void add_field_table(Page& page, const Results& results, const SeriesList& all,
                     const FieldTable& table, const TableOptions& options);

/// The rows of each benchmark, in the order in which the benchmarks appear.
std::vector<SeriesList> by_benchmark(const SeriesList& rows);
/// The line above the table of a benchmark: its name, and properties of its rows.
void add_part_title(Page& page, const SeriesList& rows, const Texts& properties);
/// The end of such tables: a line for the rows that are folded, and the notes of the legend.
void add_end(Page& page, const SeriesList& folded, const SeriesList& all, Legend& legend);

}  // namespace assay
