#pragma once
// `assay table --layers`: the time of each operation of a network, and its part of the ceiling.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/table/table.hpp"

namespace assay {

/// For each selected row with layers, from the launch with the median time: its operations by kind
/// and direction, then every layer, the longest first. InputError if no selected row has layers.
std::string layer_table(const std::vector<NamedResult>& results, const TableOptions& options);

/// Every layer of these launches as CSV: all digits, SI units without prefixes.
std::string layer_csv(const std::vector<NamedResult>& results, const TableOptions& options);

}  // namespace assay
