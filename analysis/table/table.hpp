#pragma once
// Result files as tables for people.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/baseline.hpp"

namespace assay {

struct TableOptions {
  bool markdown = false;
  std::string by;  ///< a parameter whose values become columns ("precision"), or ""
};

/// One line per id (or, with `by`, per id without that parameter): value, interval, rate, error,
/// and beside each other system's number its absolute value and the speedup. A row that is not ok
/// shows its reason, never a number. Without `baselines` those that the rows hold are shown.
/// InputError for a `by` that no row has.
std::string render_table(const std::vector<NamedResult>& results,
                         const std::vector<Baseline>& baselines, const TableOptions& options);

}  // namespace assay
