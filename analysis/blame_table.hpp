#pragma once
// Tables of blame: for whom the ranks of a job waited (core/measure/blame.hpp).

#include <vector>

#include "analysis/text_table.hpp"
#include "core/result/row.hpp"

namespace assay {

/// The rows that have a table of blame: for each the ranks and links that are blamed, the dearest
/// first, or a line that says why none is.
Table blame_table(const std::vector<const Row*>& rows);

}  // namespace assay
