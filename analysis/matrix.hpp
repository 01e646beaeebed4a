#pragma once
// Rows of pairs as matrices: copies between places of memory, and messages between pairs of nodes.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

/// A line for each place that bytes come from, a column for each that they go to; in a cell the
/// number of the fastest series of these two, with its marks. The messages of two nodes go both
/// ways: both cells of a pair have its number.
struct Matrix {
  std::string title{};
  bool higher_is_better = true;  ///< a bandwidth; else a time
  Table table{};
};

/// The bandwidth of each kind of copy (assay-copy) by its places, and of copies of at most 1 MiB
/// the time as well; the bus bandwidth, else the time, of each row that several pairs of nodes ran
/// (`assay run --pairs`). A matrix has at least two numbers.
std::vector<Matrix> matrices_of(const std::vector<NamedResult>& results,
                                const std::vector<Series>& all);

}  // namespace assay
