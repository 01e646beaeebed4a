#pragma once
// Reads the rows of a table into the memory of a device, or in blocks for verification.

#include <functional>
#include <span>
#include <vector>

#include "core/api/device.hpp"
#include "datasets/table.hpp"
#include "models/analytics/analytics_workload.hpp"
#include "models/ranks.hpp"

namespace assay {

/// Writes rows to x [range.count, features] and their labels to y [range.count], unless y is null.
/// An error of one rank that reads or stores is an error of all (throw_on_all). Collective.
void load_rows(const DataTable& table, RowRange range, Device& device, Tensor& x, Tensor* y,
               int threads, Communicator& ranks);

/// A pass over rows for verification.
struct RowPass {
  RowRange range;
  DataType type = DataType::fp64;  ///< to which elements were rounded when they were loaded
  bool with_labels = false;
  int threads = 1;
};
/// Adds the contributions of consecutive rows to `sums`; the first one is row `first` of the range.
/// x is row-major. labels are empty unless RowPass::with_labels.
using AddRows = std::function<void(std::int64_t first, std::span<const double> x,
                                   std::span<const double> labels, std::span<double> sums)>;
/// Sums of `count` numbers over all rows of the range, followed by the number of rows (for
/// all_rows()). Reads the table in blocks, so that it needs little memory.
std::vector<double> sums_over_rows(const DataTable& table, const RowPass& pass, std::size_t count,
                                   const AddRows& add);
/// The same over the rows of all ranks. If one rank cannot read its rows, all ranks throw
/// (throw_on_all). Collective.
std::vector<double> sums_over_ranks(const DataTable& table, const RowPass& mine, std::size_t count,
                                    const AddRows& add, RankCalls& ranks);
/// The bytes that such a pass over `rows` rows takes, with a copy of each block for `add`.
double bytes_of_pass(std::int64_t rows, std::int64_t features, double count, int threads);

}  // namespace assay
