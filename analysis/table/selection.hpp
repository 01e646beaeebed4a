#pragma once
// Which rows a table shows, and in which order: --filter and --sort.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// The series for which every clause holds. "KEY=PATTERN": the whole value matches the expression;
/// "KEY!=PATTERN": it does not; a clause without "=" is searched for in the id and in the
/// problem's name. A key is a parameter, benchmark, problem (its name or descriptor), id, status,
/// result or system. InputError with the nearest key, or where no series is left.
std::vector<Series> filtered(const std::vector<NamedResult>& results, std::vector<Series> all,
                             const std::vector<std::string>& clauses);

/// In the order of "KEY" or "KEY:desc": a key of the above, time, rate or error. Numbers are in
/// their own order, and a series without a value is last. "" leaves the order.
void sort_by(const std::vector<NamedResult>& results, std::vector<Series>& all,
             const std::string& order);

}  // namespace assay
