#pragma once
// `assay table --by precision`: the speedup of each precision over fp32, and its error.

#include <vector>

#include "analysis/page.hpp"
#include "analysis/precision_study.hpp"
#include "analysis/table/axes.hpp"

namespace assay {

struct TableOptions;

/// The groups of all rows of the results, reduced to the rows of `chosen`. A filtered-out fp32 row
/// is not shown, but the other rows of its group are still compared with it. The groups point into
/// `every`, which has all series. If `sorted`, rows within a group are in the order of `chosen`.
std::vector<PrecisionGroup> choose_groups(const SeriesList& every, const SeriesList& chosen,
                                          bool sorted);

/// Prints a heading for each problem, direction and backend, and below it a line for each precision
/// as it was executed: its speedup over fp32 with the interval, its errors, and its fraction of the
/// precision's own ceiling; reasons below. `every`: all series of the results; `chosen`: those to
/// show. InputError if no row has a precision.
void add_precisions(Page& page, const Results& results, const SeriesList& every,
                    const SeriesList& chosen, const TableOptions& options);

}  // namespace assay
