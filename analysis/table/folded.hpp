#pragma once
// Summarises unsupported rows: one line with their count, and a footnote for each reason.

#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"

namespace assay {

/// Whether a table may fold the series: it is unsupported, and its suite does not require it.
bool may_fold(const Series& series);

/// "6 unsupported rows are not shown [1] [2]". Each footnote has a reason, and the properties that
/// the rows with this reason share. "" without rows.
std::string folded_line(const std::vector<Series>& folded, const std::vector<Series>& all,
                        Legend& legend);

}  // namespace assay
