#include "models/network/claimed_error.hpp"

#include <algorithm>
#include <cmath>

namespace assay {

/// Uses B. P. Welford's recurrence (Technometrics 4, 1962), which avoids the cancellation of sums
/// of squares. A sum of n terms in fp64 may be wrong by about n roundoffs of fp64.
ClaimedError compute_claimed_error(std::span<const double> outputs, std::span<const double> targets,
                                   double u) {
  long double of_outputs = 0, of_targets = 0, error = 0, xx = 0, tt = 0, xt = 0, n = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ++n;
    const long double x = outputs[i], t = targets[i], from_x = x - of_outputs,
                      from_t = t - of_targets;
    of_outputs += from_x / n;
    of_targets += from_t / n;
    xx += from_x * (x - of_outputs);
    tt += from_t * (t - of_targets);
    xt += from_x * (t - of_targets);
    error += ((x - t) * (x - t) - error) / n;
  }
  const double of_sums = 0x1p-50 * (static_cast<double>(n) + 8);
  ClaimedError claimed;
  claimed.loss = {static_cast<double>(error), (2 * u + of_sums) * static_cast<double>(error)};
  const auto differ = [](std::span<const double> all) {
    return std::ranges::any_of(all, [&](double value) { return value != all.front(); });
  };
  if (differ(outputs) && differ(targets))
    claimed.correlation.value = static_cast<double>(xt / std::sqrt(xx) / std::sqrt(tt));
  claimed.correlation.bound = 2 * u + 4 * of_sums;
  return claimed;
}

}  // namespace assay
