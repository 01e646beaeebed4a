#pragma once
// Tables of blame: which ranks of a job the other ranks waited for (core/measure/blame.hpp).

#include <vector>

#include "analysis/text_table.hpp"
#include "core/result/row.hpp"

namespace assay {

/// The rows with a table of blame. Lists for each the ranks and links that are blamed, the most
/// expensive first, or a line with the reason why none is blamed.
Table make_blame_table(const std::vector<const Row*>& rows);

}  // namespace assay
