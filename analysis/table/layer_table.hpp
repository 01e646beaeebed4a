#pragma once
// `assay table --layers`: what the operations of a network took, and how far each is from its
// ceiling.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/table/table.hpp"

namespace assay {

/// For each chosen row with layers, of the launch of the median time: its operations by kind and
/// direction, then every layer, the longest first. InputError where no chosen row has any.
std::string layer_table(const std::vector<NamedResult>& results, const TableOptions& options);

/// Every layer of these launches as CSV: all digits, SI units without prefixes.
std::string layer_csv(const std::vector<NamedResult>& results, const TableOptions& options);

}  // namespace assay
