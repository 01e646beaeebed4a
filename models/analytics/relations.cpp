#include "models/analytics/relations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.hpp"

namespace assay {

Relation all_rows(double counted, std::int64_t rows) {
  return {"rows", "the number of rows that sums over the ranks miss",
          std::abs(counted - static_cast<double>(rows)), 0};
}

double error_of_sums(double terms) {
  return std::max(8 * std::sqrt(terms), terms / 2) * unit_roundoff(DataType::fp64);
}

Verification make_verification(const std::vector<Relation>& relations, std::int64_t checked,
                               const std::string& what) {
  Verification result;
  result.passed = true;
  result.checked = result.outputs = checked;
  std::vector<std::string> names;
  double worst = -1;
  for (const Relation& relation : relations) {
    names.push_back(relation.name);
    const bool holds = relation.error <= relation.bound;  // false for NaN
    const double part = relation.error == 0             ? 0
                        : std::isfinite(relation.error) ? relation.error / relation.bound
                                                        : std::numeric_limits<double>::max();
    if (part > worst) {
      worst = part;
      result.max_error = result.norm_error = std::isfinite(relation.error) ? relation.error : 0;
      result.bound = result.norm_bound = relation.bound;
      result.error_over_bound = std::isfinite(relation.error) && std::isfinite(part) ? part : 0;
    }
    if (holds || !result.passed) continue;
    result.passed = false;
    result.wrong_elements = 1;
    result.reason = fmt::format("{}: {} is {:.3g} (at most {:.3g} was expected)", relation.name,
                                relation.formula, relation.error, relation.bound);
  }
  result.reference = fmt::format("fp64: {}; {}", join(names, ", "), what);
  return result;
}

void leave_undecided(Verification& verification, double bound, const std::string& why) {
  if (!verification.passed || bound <= largest_decided) return;
  verification.passed = false;
  verification.undecided = true;
  verification.reason = fmt::format(
      "an error bound of {:.2g} of the result cannot tell a wrong one from a right one ({})", bound,
      why);
}

}  // namespace assay
