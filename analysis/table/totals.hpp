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
  bool shared = false;  ///< a row of it was timed on processors that others wanted
  std::string why;      ///< why there is none: a row is not ok, or problems are missing
};

/// For each list that stands for a whole, and each setting it ran with in one environment. A total
/// without one of its parts would pass for the whole: it has no number.
std::vector<Total> totals_of(const std::vector<Series>& all);

/// A table of them, a line each with the parameters in `axes`; "" where no row is part of a whole.
std::string totals_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                         const std::vector<std::string>& axes, bool markdown);

}  // namespace assay
