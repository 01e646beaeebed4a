#pragma once
// Tables of the evidence of rows beside their times: devices, links, storage; and matrices of rows
// for pairs of memories or nodes.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

/// A line for each device of each host that a row reports. Columns: the errors and corrected errors
/// that it has counted so far (row.device_health), those that were corrected while rows were timed,
/// the largest fraction of a row's time during which its clock was held down (row.device_state),
/// and the states of links and spare parts. Devices with errors are first. Columns that no device
/// fills are left out.
Table make_device_table(const Results& results, const SeriesList& all);

/// A line for each bisection: how many links were slow in any launch, and which, each with its
/// largest ratio.
Table make_bisection_table(const SeriesList& all);

/// A line for each row of assay-io: its rate, the ratio of the bytes that storage has moved to the
/// expected bytes (the least of the launches), and latencies of single operations.
Table make_storage_table(const Results& results, const SeriesList& all);

/// A matrix with a line for each source of bytes and a column for each destination. A cell has the
/// number of the fastest series for both, with its marks. Messages of two nodes go both ways, so
/// both cells of a pair have its number.
struct Matrix {
  std::string title{};
  bool higher_is_better = true;  ///< a bandwidth; else a time
  Table table{};
};

/// The matrices of these rows: the bandwidth of each kind of copy (assay-copy) by its places, and
/// the time of copies of at most 1 MiB; the bus bandwidth, else the time, of each row that several
/// pairs of nodes ran (`assay run --pairs`). A matrix has at least two numbers.
std::vector<Matrix> make_matrices(const Results& results, const SeriesList& all);

/// A size in words: "64 MiB".
std::string format_size(double bytes);

}  // namespace assay
