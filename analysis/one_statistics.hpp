#pragma once
// Times that different versions of the estimators made must not be compared.

#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// InputError if results with measured times have different versions of the statistics
/// (RunHeader::statistics): other estimators give other numbers for the same samples. Published
/// numbers have none.
void expect_one_statistics(const std::vector<NamedResult>& results);

}  // namespace assay
