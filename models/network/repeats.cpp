#include "models/network/repeats.hpp"

#include <algorithm>
#include <cmath>

#include "models/network/tolerance.hpp"

namespace assay {
namespace {

constexpr int repeated_runs = 8;
/// The number of roundings that change direction varies from run to run; it rarely exceeds four
/// times the largest of several runs.
constexpr double spread_factor = 4;

}  // namespace

Trainer::Difference worst(const std::vector<Trainer::Difference>& differences) {
  Trainer::Difference largest;
  double most = 0;  // largest ratio to the allowed value
  for (const Trainer::Difference& difference : differences) {
    if (difference.relative / difference.allowed <= most) continue;
    most = difference.relative / difference.allowed;
    largest = difference;
    if (std::isnan(most)) break;
  }
  return largest;
}

bool may_spread(Precision precision, const std::vector<Trainer::Difference>& differences) {
  if (size_of(operand_type(precision)) != 2) return false;
  const Trainer::Difference largest = worst(differences);
  return largest.relative > largest.allowed && std::isfinite(largest.relative);
}

double allow_spread(const TrainerSettings& settings,
                    const std::function<std::vector<Trainer::Difference>(bool every)>& repeat,
                    std::vector<Trainer::Difference>& differences) {
  std::vector<double> spread(differences.size());
  for (int run = 0; run < repeated_runs; ++run) {
    const std::vector<Trainer::Difference> again = repeat(run == 0);
    for (std::size_t i = 0; i < spread.size(); ++i)
      if (again[i].relative > spread[i]) spread[i] = again[i].relative;
  }
  const double limit =
      network_tolerance(operand_type(settings.precision), settings.network.labels).gradients;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    double& allowed = differences[i].allowed;
    allowed = std::max(allowed, std::min(limit, spread_factor * spread[i]));
  }
  return spread.empty() ? 0 : *std::ranges::max_element(spread);
}

}  // namespace assay
