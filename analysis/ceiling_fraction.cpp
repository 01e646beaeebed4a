#include "analysis/ceiling_fraction.hpp"

#include <vector>

#include "core/base/statistics.hpp"

namespace assay {

std::optional<double> ceiling_fraction(const Series& series) {
  std::vector<double> fractions;
  for (const Row& row : series.rows)
    if (row.ceiling && row.ceiling->fraction) fractions.push_back(*row.ceiling->fraction);
  return fractions.empty() ? std::nullopt : std::optional(ratio_median(fractions));
}

bool exceeds_ceiling(const Series& series) {
  return any_launch(series, [](const Row& row) {
    return row.ceiling && row.ceiling->fraction && row.ceiling->exceeded.value_or(false);
  });
}

}  // namespace assay
