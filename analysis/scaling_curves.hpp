#pragma once
// Speedup and parallel efficiency of rows that differ only in their number of ranks or threads.
// Shared by tables and reports.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

struct ScalingPoint {
  std::size_t series = 0;  ///< index
  double count = 0;        ///< ranks or threads
  /// Work per time, relative to the point with the smallest count.
  double speedup = 1;
  double efficiency = 1;  ///< speedup / (count / smallest count)
};

struct ScalingCurve {
  std::string over;                ///< "ranks" or "threads"
  bool weak = false;               ///< the work grows with the count; else it is constant
  std::vector<std::string> along;  ///< parameters that may differ between the points
  std::vector<ScalingPoint> points;
};

/// The curves with at least two points, grouped by kind: over threads that share the work, or have
/// as much each; strong over ranks; weak over ranks that share a problem; weak over ranks with a
/// problem each. The points of a curve are measured on the same hardware, in the same result; of
/// several rows with one count the fastest counts. Collectives are left out, since their work grows
/// with the ranks in another way.
std::vector<std::vector<ScalingCurve>> scaling_curves(const std::vector<NamedResult>& results,
                                                      const std::vector<Series>& all);

}  // namespace assay
