#pragma once
// `assay table --matrix`: rows of pairs of places or nodes as matrices (analysis/matrix.hpp).

#include <string>

#include "analysis/table/table.hpp"

namespace assay {

/// The matrices of the selected rows, each below its title. InputError if these rows have none.
std::string matrix_text(const Results& results, const TableOptions& options);
/// Every number of them as CSV, in SI units without prefixes: matrix, line, column, value.
std::string matrix_csv(const Results& results, const TableOptions& options);

}  // namespace assay
