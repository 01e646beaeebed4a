// Relations of rows to one another or to the machine: roofline, precision.

#include <algorithm>
#include <set>

#include "analysis/precision_study.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

json make_roofline_part(const Results& results, const SeriesList& all) {
  struct Roof {
    std::string label;
    std::vector<double> flops, bytes;
  };
  std::map<std::string, Roof> roofs;
  std::set<std::string> systems;
  json points = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row& row = all[i].first();
    const RowCeiling ceiling = row.ceiling.value_or(RowCeiling());
    const double flops = row.problem.flops.value_or(0);
    // The bytes of the roof: fewer than all bytes if caches hold some of them.
    const double bytes = ceiling.memory_bytes.value_or(row.problem.bytes.value_or(0));
    if (!has_time(all[i]) || !(flops > 0) || !(bytes > 0) || !ceiling.flops_per_s ||
        !ceiling.bytes_per_s)
      continue;
    const std::string device = all[i].parameter("device");
    const bool in_memory = ceiling.level.empty() || ceiling.level == "memory";
    const std::string label = (ceiling.flops_precision.empty() ? all[i].parameter("precision")
                                                               : ceiling.flops_precision) +
                              (device.empty() || device == "cpu" ? "" : " " + device) +
                              (in_memory ? "" : " " + ceiling.level);
    const std::string name = name_system(results, all[i]) + " " + label;
    systems.insert(name_system(results, all[i]));
    roofs[name].label = label;
    roofs[name].flops.push_back(*ceiling.flops_per_s);
    roofs[name].bytes.push_back(*ceiling.bytes_per_s);
    // Winograd: the rate counts the operations of the problem, but the algorithm executes only a
    // part of them.
    const bool fewer = any_launch(all[i], [](const Row& launch) {
      return launch.execution && launch.problem.flops &&
             launch.execution->algorithmic_flops.value_or(*launch.problem.flops) <
                 *launch.problem.flops;
    });
    points.push_back({{"row", i},
                      {"roof", name},
                      {"intensity", flops / bytes},
                      {"rate", flops / all[i].median},
                      {"fewer", fewer ? 1 : 0},
                      {"fraction", number_or_null(ceiling_fraction(all[i]))}});
  }
  if (points.empty()) return nullptr;
  json lines = json::array();
  for (const auto& [name, roof] : roofs)
    lines.push_back({{"name", name},
                     {"label", systems.size() > 1 ? name : roof.label},
                     {"flops_per_s", median(roof.flops)},
                     {"bytes_per_s", median(roof.bytes)}});
  return {{"roofs", lines}, {"points", points}};
}

json make_precision_part(const SeriesList& all) {
  json points = json::array();
  for (const PrecisionGroup& group : group_by_precision(all)) {
    const bool other = std::any_of(group.begin(), group.end(), [](const PrecisionRow& row) {
      return row.speedup && row.precision != "fp32";
    });
    for (const PrecisionRow& row : group) {
      const auto error = largest_norm_error(*row.series);
      if (!other || row.fp32 == nullptr || row.series->published || !has_time(*row.series) ||
          !error || !(row.speedup || row.is_reference()))
        continue;
      const RatioToFp32 speedup = row.speedup.value_or(RatioToFp32{});
      points.push_back({{"row", row.series - all.data()},
                        {"reference", row.fp32 - all.data()},
                        {"executed", row.precision},
                        {"speedup", speedup.value},
                        {"low", speedup.interval ? json(speedup.interval->low) : json()},
                        {"high", speedup.interval ? json(speedup.interval->high) : json()},
                        {"range", speedup.is_range ? 1 : 0},
                        {"energy", row.energy ? json(row.energy->value) : json()},
                        {"mark", choose_mark(*row.series, *row.fp32)},
                        {"error", *error}});
    }
  }
  return points.empty() ? json() : points;
}

}  // namespace assay::report
