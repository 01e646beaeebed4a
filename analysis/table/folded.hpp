#pragma once
// Unsupported rows: one line with their count and a footnote for each reason.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/table/legend.hpp"

namespace assay {

/// Whether a table may fold the series: it is unsupported, and its suite does not require it.
bool may_fold(const Series& series);

/// "6 unsupported rows are not shown [1] [2]", with what the rows of each reason share and the
/// reason as footnotes; "" without rows.
std::string folded_line(const std::vector<Series>& folded, const std::vector<Series>& all,
                        Legend& legend);

}  // namespace assay
