#pragma once
// Common parts of the tables with a line for each series: choice of columns, width, footnotes,
// legend.

#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"
#include "analysis/table/fields.hpp"
#include "analysis/text_table.hpp"

namespace assay {

struct TableOptions;

struct FieldTable {
  std::vector<Field> fields;
  std::vector<Series> rows;              ///< a line for each
  std::vector<Series> folded;            ///< unsupported rows, summarised in one line
  std::vector<std::string> headings{};   ///< by row: a line above it, where not empty; {}: none
  std::vector<std::string> constants{};  ///< lines of the title: properties that all rows share
  Legend legend{};                       ///< lines before those of the columns
  std::string of{};                      ///< "conv" of one table among several, else ""
  /// Where the table is too wide, and the rows are in the order of their problems: whether these
  /// may be lines above their rows instead of a column.
  bool problems_may_head = false;
  /// How to see the columns that a terminal has no room for.
  const char* to_see_all = "--columns all shows them";
};

/// Title, table and legend. Columns as options.columns says; without it the fields that are shown,
/// on a terminal without spare ones where the table would be wider than table_width.
void add_field_table(Page& page, const std::vector<NamedResult>& results,
                     const std::vector<Series>& all, const FieldTable& table,
                     const TableOptions& options);

/// The table without its title; what explains it goes into `legend`.
void add_body(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
              const FieldTable& table, const TableOptions& options, Legend& legend);

/// Lines above rows: the text of each row that differs from that of the row before it. {} where few
/// rows have the same text.
std::vector<std::string> headings_of(const std::vector<std::string>& texts);
/// The lines, each below its heading where it has one.
std::vector<Line> headed(std::vector<Line> lines, const std::vector<std::string>& headings);

/// Whether the table is too wide: on a terminal, where columns are left out, without all that is
/// spared first.
bool too_wide(const FieldTable& table, const TableOptions& options);

/// `constants` and further properties that all rows share, after those in `more`: "all rows: …,
/// launches 3, problems of deepbench-train".
std::vector<std::string> shared_by(const std::vector<Series>& rows,
                                   const std::vector<std::string>& constants,
                                   std::vector<std::string> more = {});

}  // namespace assay
