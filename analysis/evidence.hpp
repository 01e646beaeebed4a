#pragma once
// Tables of what rows tell beside their times: devices, links, storage, and rows of pairs of places
// of memory or of nodes as matrices.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

/// A line for each device of each host that a row tells of (row.device_health): the errors and the
/// corrected errors that it has counted by then, those that were corrected while rows were timed,
/// the largest part of a row's time in which its clock was held down (row.device_state), and the
/// states of links and spare parts. Devices with errors are first. Columns that no device has are
/// left out.
Table device_table(const Results& results, const SeriesList& all);

/// A line for each bisection: how many links were slow in any launch, and which, each with its
/// largest ratio.
Table bisection_table(const SeriesList& all);

/// A line for each row of assay-io: its rate, the bytes that storage has moved over those expected
/// (the least of the launches), and latencies of single operations.
Table storage_table(const Results& results, const SeriesList& all);

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
std::vector<Matrix> make_matrices(const Results& results, const SeriesList& all);

/// A size for people: "64 MiB".
std::string size_text(double bytes);

}  // namespace assay
