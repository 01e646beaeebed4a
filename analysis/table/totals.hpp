#pragma once
// The total time of a whole (the convolutions of a network), from the rows of its problems, each
// multiplied by the number of its occurrences.

#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"
#include "core/measure/case.hpp"

namespace assay {

struct Total {
  Part part;                    ///< as in its rows, except for the repeat
  const Series* any = nullptr;  ///< one of its rows: all have its parameters
  double seconds = 0, flops = 0;
  /// "!" if any of its rows was timed while other processes used the processors, else "~" if any
  /// was oversubscribed.
  std::string mark;
  std::string why;  ///< why there is none: a row is not ok, or problems are missing
};

/// The totals of each problem list that describes a whole, for each combination of settings and
/// environment. If a part is missing, the total has no number, since a partial sum would look like
/// the total.
std::vector<Total> totals_of(const std::vector<Series>& all);

/// A table of the totals, with the parameters that differ between them, below a blank line; false
/// and nothing if no row is part of a whole. `withheld`: also print totals without a number, with
/// the reason.
bool add_totals(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
                bool withheld);

}  // namespace assay
