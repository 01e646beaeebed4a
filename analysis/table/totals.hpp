#pragma once
// The time of a whole (the convolutions of a network) from the rows of its problems, each as often
// as the whole has it.

#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/measure/case.hpp"

namespace assay {

struct Total {
  Part part;                    ///< as its rows have it, but for the repeat
  const Series* any = nullptr;  ///< one of its rows: all have its parameters
  double seconds = 0, flops = 0;
  /// "!" where a row of it was timed while other processes used the processors, else "~" where one
  /// was oversubscribed.
  std::string mark;
  std::string why;  ///< why there is none: a row is not ok, or problems are missing
};

/// For each list that stands for a whole, and each setting it ran with in one environment. A total
/// without one of its parts would pass for the whole: it has no number.
std::vector<Total> totals_of(const std::vector<Series>& all);

/// A table of them, a line each with the parameters that differ between them; "" where no row is
/// part of a whole. `withheld`: totals without a number have a line, too, which says why.
std::string totals_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                         bool withheld, bool markdown);

}  // namespace assay
