#pragma once
// A table for each benchmark, where one of all of them would be too wide.

#include <functional>
#include <string>
#include <vector>

#include "analysis/table/axes.hpp"
#include "analysis/table/field_table.hpp"

namespace assay {

/// The rows of each benchmark, in the order in which the benchmarks appear.
std::vector<std::vector<Series>> by_benchmark(const std::vector<Series>& rows);

/// Whether a line of Axes::constants is of all rows.
bool of_all_rows(const std::string& line);
/// The lines without "all rows: ", which the name of the benchmark says above a table of its own.
std::vector<std::string> of_one_benchmark(std::vector<std::string> lines);

/// Makes the columns of some rows, whose parameters that differ are `axes`.
using MakeFields = std::function<std::vector<Field>(const std::vector<Series>& rows, const Axes&)>;

/// The rows of `whole` in a table for each of their benchmarks, under one title and above one
/// legend. The columns of a table are the parameters that differ between its own rows, and what
/// else `make` adds. `more`: constants of all rows beside the parameters that they share.
void add_benchmark_tables(Page& page, const std::vector<NamedResult>& results,
                          const std::vector<Series>& all, const FieldTable& whole,
                          const MakeFields& make, const std::vector<std::string>& more,
                          const TableOptions& options);

}  // namespace assay
