#pragma once
// Tables and text as LaTeX, for papers. Only the package booktabs is needed.

#include <string>

#include "analysis/text_table.hpp"

namespace assay {

/// Text with its special characters escaped, after visible().
std::string latex_text(const std::string& text);

/// A tabular. If all numbers of a column have units of one kind, its head names the most frequent
/// unit and the cells have their numbers in it, with the printed digits. Decimal points are below
/// each other; a mark behind a number takes no width. A note spans the columns that are left.
std::string latex_table(const Table& table);

}  // namespace assay
