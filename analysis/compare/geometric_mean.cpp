#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/compare/comparison.hpp"
#include "analysis/compare/verdict.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Geometric mean over the rows of each launch; empty where the launches of the rows differ.
std::vector<double> launch_means(const std::vector<const SideRow*>& rows) {
  std::map<std::int64_t, std::pair<double, std::size_t>> sums;
  for (const SideRow* row : rows)
    for (std::size_t i = 0; i < row->launches.rows.size(); ++i) {
      const nlohmann::json& launch = row->launches.rows[i];
      auto& [sum, count] = sums[launch.at("launch").get<std::int64_t>()];
      sum += std::log(row->launches.medians[i]);
      ++count;
    }
  std::vector<double> means;
  for (const auto& [launch, part] : sums) {
    if (part.second != rows.size()) return {};
    means.push_back(std::exp(part.first / static_cast<double>(part.second)));
  }
  return means;
}

}  // namespace

json geometric_mean(const std::vector<std::pair<const SideRow*, const SideRow*>>& pairs,
                    const std::vector<double>& ratios, std::size_t of) {
  double sum = 0;
  for (const double ratio : ratios) sum -= std::log(ratio);
  const double speedup = std::exp(sum / static_cast<double>(ratios.size()));
  json mean = {{"speedup", speedup},
               {"interval", nullptr},
               {"interval_reason", nullptr},
               {"rows", ratios.size()},
               {"of", of}};
  std::vector<const SideRow*> base, updated;
  for (const auto& [before, after] : pairs) {
    base.push_back(before);
    updated.push_back(after);
  }
  const std::vector<double> before = launch_means(base), after = launch_means(updated);
  if (before.empty() || after.empty()) {
    mean["interval_reason"] = "the rows have different launches";
    return mean;
  }
  const auto interval = compare_launches(after, before, compare_confidence).interval;
  if (!interval) {
    mean["interval_reason"] = "too few launches for a 95 % interval";
    return mean;
  }
  // The mean of the estimates of the rows may lie just outside of the interval, which then includes
  // it.
  mean["interval"] = {std::min(interval->low, speedup), std::max(interval->high, speedup)};
  return mean;
}

}  // namespace assay
