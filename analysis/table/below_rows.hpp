#pragma once
// Tables that are printed below the rows from which they are computed: totals, curves of
// collectives, and scaling. Each begins with a blank line, and is absent if no row belongs to it.

#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/table/axes.hpp"

namespace assay {

/// The total time of a whole (the convolutions of a network), from the rows of its problems. Each
/// row is multiplied by the number of occurrences of its problem.
struct Total {
  ListShare part;               ///< as in its rows, except the repeat
  const Series* any = nullptr;  ///< one of its rows: all have its parameters
  double seconds = 0, flops = 0;
  std::string mark{};  ///< the most severe mark of its rows
  std::string why{};   ///< why there is none: a row is not ok, or problems are missing
};

/// The totals of each problem list that describes a whole, for each combination of settings and
/// environment. If a part is missing, the total has no number, since a partial sum would look like
/// the total.
std::vector<Total> make_totals(const SeriesList& all);

/// A table of the totals, with the parameters that differ between them; false if there is none.
/// `withheld`: also print totals without a number, with the reason.
bool add_totals(Page& page, const Results& results, const SeriesList& all, bool withheld);

/// A line with alpha and beta of each curve of a collective over at least 3 sizes.
void add_curves(Page& page, const Results& results, const SeriesList& all);

/// Speedup and parallel efficiency: a line for each point of each curve over ranks
/// (analysis/curves.hpp).
void add_scaling(Page& page, const Results& results, const SeriesList& all);

}  // namespace assay
