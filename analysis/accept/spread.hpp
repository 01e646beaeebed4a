#pragma once
// Nodes that are slower than the spread of the healthy ones explains.
//
// Processors of one type differ: the limit is estimated from the fleet instead of being given. A
// node's value is the logarithm of its time over that of the others (the median over its rows);
// the centre is the median of the nodes, and their spread 1.4826 times the median distance from it
// (MAD), so that a minority of slow nodes changes neither. The limit is so many spreads above the
// centre that the slowest of n equally healthy nodes, whose values are normally distributed, is
// above it in a given part of all fleets. The factor contains that the spread itself is estimated:
// it is the quantile of simulated fleets of n nodes.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/accept/acceptance.hpp"

namespace assay {

/// Nodes from which a spread can be estimated.
inline constexpr std::size_t least_for_spread = 8;

/// Spreads above the centre that the slowest of so many healthy nodes exceeds in this part of
/// fleets. Deterministic; within about 2 % for a part of 0.01. std::logic_error for fewer than
/// least_for_spread nodes, or a part outside [0.001, 0.5].
double spread_factor(std::size_t nodes, double false_alarms);

struct FleetSpread {
  double centre = 0;  ///< of the logarithms
  double spread = 0;  ///< of the logarithms: about the relative standard deviation
};
/// Centre and spread of at least one ratio of times. Each ratio is above 0.
FleetSpread fleet_spread(std::span<const double> ratios);

struct SpreadOutcome {
  /// A check for each node that has ratios, with the node's index. Value and limit are ratios to
  /// the other nodes.
  std::vector<std::pair<std::size_t, Check>> checks{};
  std::string too_few{};   ///< why there are no checks; "" too if no row matches
  std::string too_wide{};  ///< why the fleet as a whole fails; "" if it does not
};
SpreadOutcome check_spread(const SpreadRule& rule, const std::vector<JudgedNode>& nodes);

}  // namespace assay
