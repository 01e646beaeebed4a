#include "analysis/accept/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

#include "analysis/ratio.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"

namespace assay {
namespace {

constexpr double normal_mad = 1.4826;  // a normal distribution's standard deviation over its MAD

/// Centre and spread of these logarithms. Replaces the logarithms by their distances from the
/// centre.
FleetSpread compute_spread(std::vector<double>& logs) {
  FleetSpread spread;
  spread.centre = median(logs);
  for (double& value : logs) value = std::abs(value - spread.centre);
  spread.spread = normal_mad * median(logs);
  return spread;
}

/// Replaces each value by its difference from the median of the others, as for the ratios of nodes.
/// Sorts the values.
void take_off_others(std::vector<double>& values) {
  std::ranges::sort(values);
  const std::size_t count = values.size();
  const auto without = [&](std::size_t left_out) {
    const auto at = [&](std::size_t i) { return values[i < left_out ? i : i + 1]; };
    return 0.5 * (at((count - 2) / 2) + at((count - 1) / 2));
  };
  std::vector<double> own(count);
  for (std::size_t i = 0; i < count; ++i) own[i] = values[i] - without(i);
  values = std::move(own);
}

double simulate_factor(std::size_t nodes, double false_alarms) {
  // The total of random numbers is limited, because the slowest node of a large fleet varies less.
  const std::size_t fleets = std::clamp<std::size_t>(4'000'000 / nodes, 4000, 40000);
  std::mt19937_64 random(nodes);
  std::normal_distribution<double> normal;
  std::vector<double> factors, values(nodes);
  for (std::size_t i = 0; i < fleets; ++i) {
    for (double& value : values) value = normal(random);
    take_off_others(values);
    const double slowest = *std::ranges::max_element(values);
    const FleetSpread spread = compute_spread(values);
    factors.push_back((slowest - spread.centre) / spread.spread);
  }
  return quantile(factors, 1 - false_alarms);
}

}  // namespace

double spread_factor(std::size_t nodes, double false_alarms) {
  if (nodes < least_for_spread || !(false_alarms >= 0.001 && false_alarms <= 0.5))
    throw std::logic_error("spread_factor: too few nodes, or no such part of fleets");
  static std::map<std::pair<std::size_t, double>, double> known;
  const auto [place, fresh] = known.try_emplace({nodes, false_alarms});
  if (fresh) place->second = simulate_factor(nodes, false_alarms);
  return place->second;
}

FleetSpread fleet_spread(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  return compute_spread(logs);
}

SpreadOutcome check_spread(const SpreadRule& rule, const std::vector<JudgedNode>& nodes) {
  SpreadOutcome outcome;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<double> own;
    for (const JudgedRow& row : nodes[i].rows)
      if (row.ratio && rule.rows.applies_to(row.id)) own.push_back(*row.ratio);
    if (own.empty()) continue;
    ratios.push_back(ratio_median(own));
    outcome.checks.push_back({i, {rule.text, ratios.back()}});
  }
  if (ratios.empty()) return outcome;
  const std::size_t count = ratios.size();
  if (count < least_for_spread)
    return {{},
            fmt::format("{} with times are too few to estimate a spread, which takes {}",
                        format_count(count, "comparable node"), least_for_spread)};
  const FleetSpread fleet = fleet_spread(ratios);
  const double explained = spread_factor(count, rule.false_alarms) * fleet.spread;
  const double limit =
      std::exp(fleet.centre + std::max(std::log1p(rule.slower_at_least), explained));
  for (auto& [index, check] : outcome.checks) {
    check.limit = limit;
    if (*check.value <= limit) continue;
    check.verdict = NodeVerdict::perf_fail;
    check.reason = fmt::format(
        "speedup over the other nodes {:.3f}, at least {:.3f} is required where {} nodes spread by "
        "{}",
        compute_speedup(*check.value), compute_speedup(limit), count,
        format_percentage(fleet.spread));
  }
  if (rule.at_most && fleet.spread > *rule.at_most)
    outcome.too_wide =
        fmt::format("the nodes spread by {}, above the limit of {}",
                    format_percentage(fleet.spread), format_percentage(*rule.at_most));
  return outcome;
}

}  // namespace assay
