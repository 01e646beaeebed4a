#pragma once
// Files as the data of an analysis. A process opens a file once. The ids of cases contain its
// canonical name, which contains a hash of its contents.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "datasets/synthetic.hpp"
#include "datasets/table.hpp"

namespace assay {

/// True if a value of --data names a file: it is not the name of one of the generated `tables`.
bool is_file(const std::string& data, const std::vector<std::string>& tables);

/// The table of a file, by its path or by the canonical name of an earlier call. InputError if it
/// cannot be opened, or has no labels although they are needed. The first call with a path is
/// collective over `ranks` (DataTableOptions::ranks).
const DataTable& file_table(const std::string& data, bool needs_labels, Communicator* ranks);

/// Changes rows that were read, the first of which is row `first`. `labels` may be empty.
using ChangeRows =
    std::function<void(std::int64_t first, std::span<double> x, std::span<double> labels)>;
/// `table` with its name, whose rows `change` changes as they are read, by several threads at once.
std::unique_ptr<DataTable> change_table(std::shared_ptr<const DataTable> table, ChangeRows change);

/// The table of a file that file_table() has opened, by its canonical name. With a seed above 0,
/// each feature is multiplied by 0.5, 1 or 2 at random, which gives other data of the same kind
/// without rounding.
std::unique_ptr<DataTable> scale_file_table(const std::string& canonical, std::uint64_t seed);
/// `table` minus the median of each column over its first rows (at most 256). It is for analyses
/// that do not depend on the origin: their errors are then relative to differences between rows,
/// not to the distance from the origin. A median is a value of the column, so differences of equal
/// or near values are exact, and a few outliers do not move it.
std::unique_ptr<DataTable> centre_table(std::unique_ptr<DataTable> table);

}  // namespace assay
