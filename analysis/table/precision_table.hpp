#pragma once
// `assay table --by precision`: what a precision gains over fp32, and what it costs in accuracy.

#include <string>
#include <vector>

#include "analysis/precision_study.hpp"

namespace assay {

struct TableOptions;

/// The groups of all rows of the results, with the rows of `chosen` alone: what a filter leaves out
/// is not shown, but an fp32 row among it is still what the others are set beside. They point into
/// `every`, which has all series. Within a group in the order of `chosen` where it was sorted.
std::vector<PrecisionGroup> chosen_groups(const std::vector<Series>& every,
                                          const std::vector<Series>& chosen, bool sorted);

/// A heading for each problem, direction and backend, below it a line for each
/// precision as it was executed, with its speedup over fp32 and the interval of it, its errors and
/// its part of the precision's own ceiling; reasons below. `every` has all series of the results,
/// `chosen` those that are to be shown. InputError if no row has a precision.
std::string precision_table(const std::vector<NamedResult>& results,
                            const std::vector<Series>& every, const std::vector<Series>& chosen,
                            const TableOptions& options);

}  // namespace assay
