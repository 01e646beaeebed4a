// Rows set in relation to one another or to the machine: roofline, precision.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/precision_study.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

json roofline_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  struct Roof {
    std::string label;
    std::vector<double> flops, bytes;
  };
  std::map<std::string, Roof> roofs;
  std::set<std::string> systems;
  json points = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const json ceiling = all[i].first().value("ceiling", json());
    const json flops = problem_number(all[i], "flops");
    // The roof is about these: less than all bytes where caches keep some of them.
    const json bytes = ceiling.is_object() && ceiling.contains("memory_bytes")
                           ? ceiling["memory_bytes"]
                           : problem_number(all[i], "bytes");
    if (!has_time(all[i]) || flops.is_null() || bytes.is_null() || !(flops > 0) || !(bytes > 0) ||
        !ceiling.is_object() || !ceiling.at("flops_per_s").is_number() ||
        !ceiling.at("bytes_per_s").is_number())
      continue;
    const std::string level = ceiling.value("level", "memory");
    const json device = all[i].first().at("parameters").value("device", json());
    const std::string label =
        ceiling.value("flops_precision", all[i].parameter("precision")) +
        (device.is_string() && device != "cpu" ? " " + device.get<std::string>() : "") +
        (level == "memory" ? "" : " " + level);
    const std::string name = system_of(results, all[i]) + " " + label;
    systems.insert(system_of(results, all[i]));
    roofs[name].label = label;
    roofs[name].flops.push_back(ceiling.at("flops_per_s"));
    roofs[name].bytes.push_back(ceiling.at("bytes_per_s"));
    points.push_back({{"row", i},
                      {"roof", name},
                      {"intensity", flops.get<double>() / bytes.get<double>()},
                      {"rate", flops.get<double>() / all[i].median},
                      {"fraction", ceiling.value("fraction", json())}});
  }
  if (points.empty()) return nullptr;
  json lines = json::array();
  for (const auto& [name, roof] : roofs)
    lines.push_back({{"name", name},
                     {"label", systems.size() > 1 ? name : roof.label},
                     {"flops_per_s", median(roof.flops)},
                     {"bytes_per_s", median(roof.bytes)}});
  return {{"roofs", lines}, {"points", columns_of(points)}};
}

json precision_part(const std::vector<Series>& all, Strings& strings) {
  json points = json::array();
  for (const PrecisionGroup& group : precision_groups(all)) {
    const bool other = std::any_of(group.begin(), group.end(), [](const PrecisionRow& row) {
      return row.speedup && row.precision != "fp32";
    });
    for (const PrecisionRow& row : group) {
      const auto error = largest_norm_error(*row.series);
      if (!other || row.fp32 == nullptr || row.series->published || !has_time(*row.series) ||
          !error || !(row.speedup || row.is_reference()))
        continue;
      const OverFp32 speedup = row.speedup.value_or(OverFp32{});
      points.push_back({{"row", row.series - all.data()},
                        {"reference", row.fp32 - all.data()},
                        {"executed", strings(row.precision)},
                        {"speedup", speedup.value},
                        {"low", speedup.interval ? json(speedup.interval->low) : json()},
                        {"high", speedup.interval ? json(speedup.interval->high) : json()},
                        {"range", speedup.is_range ? 1 : 0},
                        {"energy", row.energy ? json(row.energy->value) : json()},
                        {"mark", mark_of(*row.series, *row.fp32)},
                        {"error", *error}});
    }
  }
  return columns_of(points);
}

}  // namespace assay::report
