// Rows that differ only in ranks or threads: strong and weak scaling.

#include "analysis/scaling_curves.hpp"

#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

json scaling_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json parts = json::array();
  for (const std::vector<ScalingCurve>& curves : scaling_curves(results, all)) {
    json of_kind = json::array();
    std::vector<const Series*> firsts;
    for (const ScalingCurve& curve : curves) {
      const ScalingPoint& first = curve.points.front();
      json points = json::array();
      for (const ScalingPoint& point : curve.points)
        points.push_back({{"row", point.series},
                          {"count", point.count},
                          {"seconds", all[point.series].median},
                          {"speedup", point.speedup},
                          {"ideal", point.count / first.count},
                          {"mark", mark_of(all[point.series], all[first.series])},
                          {"efficiency", point.efficiency}});
      of_kind.push_back({{"over", curve.over}, {"weak", curve.weak}, {"points", points}});
      firsts.push_back(&all[first.series]);
    }
    if (curves.empty()) continue;
    name_apart(of_kind, results, firsts, curves.front().along);
    parts.insert(parts.end(), of_kind.begin(), of_kind.end());
  }
  return parts.empty() ? json() : parts;
}

}  // namespace assay::report
