#include "analysis/table/table.hpp"

#include "analysis/evidence.hpp"
#include "analysis/page.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

std::vector<Matrix> choose_matrices(const Results& results, const TableOptions& options) {
  std::vector<Matrix> matrices = make_matrices(results, select_series(results, options));
  if (matrices.empty())
    throw InputError(
        "--matrix: the chosen rows have no matrix (it needs copies between several places, or a "
        "row that several pairs of nodes ran). Run assay-copy, or `assay run --pairs`.");
  return matrices;
}

}  // namespace

std::string render_matrix(const Results& results, const TableOptions& options) {
  Page page(options.markdown, options.latex);
  for (const Matrix& matrix : choose_matrices(results, options)) {
    page.title(matrix.title);
    page.table(matrix.table);
  }
  return page.text();
}

RecordList make_matrix_records(const Results& results, const TableOptions& options) {
  RecordList list{{"matrix", "line", "column", "value"}, {}};
  for (const auto& [title, higher, table] : choose_matrices(results, options))
    for (const Line& line : table.lines)
      for (std::size_t i = 1; i < line.numbers.size(); ++i)
        if (line.numbers[i])
          list.records.push_back({{"matrix", title},
                                  {"line", line.cells[0]},
                                  {"column", table.columns[i].title},
                                  {"value", *line.numbers[i]}});
  return list;
}

}  // namespace assay
