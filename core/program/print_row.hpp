#pragma once
// The text that a benchmark's program prints for its rows.

#include <string>
#include <vector>

#include "core/result/row.hpp"

namespace assay {

/// The lines of a row: its id, then its time with interval and rates in readable units, or the
/// reason why it has no time. Baselines beyond the one of the row are in `further_baselines`, which
/// no result file has.
std::string format_row(const Row& row, bool colour = false, const std::string& label = "");
/// Prints format_row() to stdout and flushes it. `label`: words behind the rates.
void print_row(const Row& row, const std::string& label);

/// The lines after the last row that explain the marks behind numbers; "" if no row has a mark.
std::string describe_marks(const std::vector<Row>& rows);

/// For --verbose: how the row was measured and verified: "57 samples of 2 runs, stopped by
/// precision; largest error 3e-07"; "" if it was neither.
std::string row_details(const Row& row);

}  // namespace assay
