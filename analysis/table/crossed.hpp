#pragma once
// `assay table --by PARAMETER --baseline SYSTEM`, the layout of the CORAL-2 tables: columns for the
// values of a parameter on one system, lines for the rows of another.

#include <string>
#include <vector>

#include "analysis/table/beside.hpp"

namespace assay {

struct TableOptions;

/// One column: the rows of a system whose parameter has one value.
struct CrossedColumn {
  std::string system, value;
  Baseline rows;
};

struct CrossedLine {
  const Series* series;
  std::vector<Match> matches{};  ///< by column
  Texts why{};                   ///< by column; why there is none
};

struct CrossTable {
  std::vector<CrossedColumn> columns;
  std::vector<CrossedLine> lines{};  ///< by result; published rows are in the order of their source
  std::size_t left_out = 0;          ///< number of series whose problem is in no column
};

/// Matches each series with every column's number for the same work, for any value of the parameter
/// `by`. InputError if no baseline's row has the parameter.
CrossTable cross(const Results& results, const SeriesList& all,
                 const std::vector<Baseline>& baselines, const std::string& by);

/// Each problem has a line with the columns' absolute values, and below it a line for each series
/// with its value and, in every column, the speedup of the column's system over it.
void add_crossed(Page& page, const Results& results, const CrossTable& crossed,
                 const SeriesList& all, const TableOptions& options);

}  // namespace assay
