#pragma once
// The rows of a table: into the memory of a device, and once more past a check.

#include <functional>
#include <span>
#include <vector>

#include "core/api/device.hpp"
#include "datasets/table.hpp"
#include "models/analysis_workload.hpp"

namespace assay {

/// Fills x [range.count, features] with the rows and, where not null, y [range.count] with their
/// labels.
void load_rows(const Table& table, RowRange range, Device& device, Tensor& x, Tensor* y,
               int threads);

/// A pass over rows for a check.
struct RowPass {
  RowRange range;
  DataType type = DataType::fp64;  ///< to which elements were rounded when they were loaded
  bool with_labels = false;
  int threads = 1;
};
/// Adds to `sums` what some consecutive rows contribute, the first of which is row `first` of the
/// range. x is row-major; labels are empty where they were not asked for.
using AddRows = std::function<void(std::int64_t first, std::span<const double> x,
                                   std::span<const double> labels, std::span<double> sums)>;
/// The sums of `count` numbers over all rows of the range, and last the number of these rows:
/// summed over the ranks it shows whether the sum has all of them. The table is read again, in
/// blocks, so that any length needs little memory.
std::vector<double> sums_over_rows(const Table& table, const RowPass& pass, std::size_t count,
                                   const AddRows& add);

}  // namespace assay
