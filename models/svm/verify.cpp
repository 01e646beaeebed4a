#include <algorithm>
#include <cmath>

#include "models/svm/svm.hpp"

namespace assay {
namespace {

/// Sums over rows, in one array: max(0, z), s, rows on the right side, what rounding may change of
/// max(0, z), then s y (x, 1).
constexpr std::size_t hinge = 0, slack = 1, right = 2, uncertain = 3, direction = 4;

/// Slope of the dual solution of a method that has none: any is feasible.
constexpr double any_slope = 10;

/// `roundoff`: the error of f, as a part of the norm of its terms.
void add_row(const double* x, double y, const std::vector<double>& w, double slope, double roundoff,
             double* sums) {
  const std::size_t d = w.size() - 1;
  double f = w[d], squares = f * f;
  for (std::size_t j = 0; j < d; ++j) {
    const double term = w[j] * x[j];
    f += term;
    squares += term * term;
  }
  const double z = 1 - y * f, s = std::min(std::max(slope * z, 0.0), 1.0);
  const double error = roundoff * std::sqrt(squares);
  sums[hinge] += z > 0 || !(z == z) ? z : 0;  // keeps NaN
  sums[uncertain] += z > -error ? error : 0;
  sums[slack] += s;
  sums[right] += y * f > 0;
  for (std::size_t j = 0; j < d; ++j) sums[direction + j] += s * y * x[j];
  sums[direction + d] += s * y;
}

double squared(const double* v, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += v[i] * v[i];
  return sum;
}

}  // namespace

SvmCheck verify_svm(const SvmSolution& solution, const SvmSettings& settings, const Table& table,
                    const RowPass& mine, RankCalls& ranks) {
  const std::size_t width = solution.w.size(), d = width - 1;
  const double slope = solution.slope > 0 ? solution.slope : any_slope;
  // Of d + 1 terms in any order, w rounded to the table's type, there and here: errors are random,
  // so that 8 deviations bound them. Equal rows have equal ones, which add up.
  const double roundoff = 8 * std::sqrt(static_cast<double>(d) / 6 + 2) *
                          (unit_roundoff(mine.type) + unit_roundoff(DataType::fp64));
  const std::vector<double> sums = sums_over_ranks(
      table, mine, direction + width,
      [&](std::int64_t, std::span<const double> x, std::span<const double> labels,
          std::span<double> all) {
        for (std::size_t i = 0; i < labels.size(); ++i)
          add_row(&x[i * d], labels[i], solution.w, slope, roundoff, all.data());
      },
      ranks);
  const double c = settings.cost, dual_norm = c * c * squared(&sums[direction], width);
  const double primal = squared(solution.w.data(), width) / 2 + c * sums[hinge];
  const double t = dual_norm > 0 ? std::min(1.0, c * sums[slack] / dual_norm) : 1;
  const double dual = t * c * sums[slack] - t * t * dual_norm / 2;
  const double gap = (primal - dual) / primal;

  const auto n = static_cast<double>(table.rows());
  const double summed = 8 * std::sqrt(n) * unit_roundoff(DataType::fp64);
  const double rounding = 16 * std::sqrt(static_cast<double>(d)) * unit_roundoff(mine.type);
  std::vector<Relation> relations{all_rows(sums.back(), table.rows())};
  relations.push_back({"objective", "|P - own P| / own P",
                       std::abs(solution.objective - primal) / primal,
                       summed + std::max(rounding, c * sums[uncertain] / primal)});
  const double rise = primal / (c * n) - 1;  // at w = 0 all rows have z = 1
  if (settings.nelder_mead)
    relations.push_back({"descent", "(P - P(0)) / P(0), without a duality gap to reach",
                         rise <= 0 ? 0 : rise, 0});  // keeps NaN
  else
    relations.push_back({"duality gap",
                         solution.gap > settings.gap && solution.evaluations < settings.evaluations
                             ? "(P - D) / P, which rounding kept from falling further (--gap),"
                             : "(P - D) / P",
                         gap, settings.gap + 4 * (summed + rounding)});
  SvmCheck check{
      verification_of(relations, mine.range.count * table.features(), "all rows of the table"),
      sums[right] / n, primal, gap};
  return check;
}

}  // namespace assay
