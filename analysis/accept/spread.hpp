#pragma once
// Nodes that are slower than the spread of the healthy ones explains.
//
// Processors of one type differ, so the limit is estimated from the fleet. A node's value is the
// logarithm of its time over that of the others (the median over its rows); the centre is the
// median of the nodes, and their spread 1.4826 times the median distance from it (MAD), so that a
// minority of slow nodes changes neither. The limit is a multiple of the spread above the centre.
// The factor is such that in a given fraction of fleets, the slowest of n equally healthy nodes
// with normally distributed values is above the limit. It is the quantile of simulated fleets of n
// nodes, so it allows for the error of the estimated spread.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/accept/acceptance.hpp"

namespace assay {

/// Number of nodes from which on a spread can be estimated.
inline constexpr std::size_t least_for_spread = 8;

/// The number of spreads above the centre that the slowest of `nodes` healthy nodes exceeds in this
/// fraction of fleets. Deterministic; precise to about 2 % for a fraction of 0.01. std::logic_error
/// for fewer than least_for_spread nodes, or a fraction outside [0.001, 0.5].
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
  std::string too_few{};   ///< why there are no checks; also "" if no row matches
  std::string too_wide{};  ///< why the fleet as a whole fails; "" if it does not
};
SpreadOutcome check_spread(const SpreadRule& rule, const std::vector<JudgedNode>& nodes);

}  // namespace assay
