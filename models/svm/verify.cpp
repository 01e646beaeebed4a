#include <algorithm>
#include <cmath>
#include <string>

#include "models/svm/hessian_check.hpp"
#include "models/svm/svm.hpp"

namespace assay {
namespace {

/// Sums over rows, in one array: max(0, z), s, rows on the right side, the error of max(0, z) by
/// rounding, rows on the wrong side, the smoothed hinge, the errors of s and of s (x, 1) by
/// rounding, the norm of s (x, 1), then s y (x, 1).
constexpr std::size_t hinge = 0, slack = 1, right = 2, uncertain = 3, wrong = 4, smooth = 5,
                      slack_doubt = 6, pull_doubt = 7, pull = 8, direction = 9;

/// Slope for the dual solution of a method without one: every slope gives a feasible solution.
constexpr double any_slope = 10;

/// Nelder-Mead stops when the values of P at all vertices differ by less than this part of P(0).
constexpr double flat_simplex = 1.5e-8;

/// `roundoff`: the error of f, relative to the norm of its terms.
void add_row(const double* x, double y, const std::vector<double>& w, double slope, double roundoff,
             double* sums) {
  const std::size_t d = w.size() - 1;
  double f = w[d], squares = f * f, row = 1;
  for (std::size_t j = 0; j < d; ++j) {
    const double term = w[j] * x[j];
    f += term;
    squares += term * term;
    row += x[j] * x[j];
  }
  const double z = 1 - y * f, s = std::min(std::max(slope * z, 0.0), 1.0);
  const double error = roundoff * std::sqrt(squares);
  sums[hinge] += z > 0 || !(z == z) ? z : 0;  // keeps NaN
  sums[uncertain] += z > -error ? error : 0;
  sums[slack] += s;
  sums[smooth] += s * (z - s / (2 * slope));
  // s is clipped to [0, 1], so it is exact if slope z is far enough outside.
  const double reach = slope * error,
               doubt = slope * z > -reach && slope * z < 1 + reach ? std::min(reach, 1.0) : 0;
  sums[slack_doubt] += doubt;
  sums[pull_doubt] += doubt * std::sqrt(row);
  sums[pull] += s * std::sqrt(row);
  sums[right] += y * f > 0;
  sums[wrong] += !(0 < y * f);
  for (std::size_t j = 0; j < d; ++j) sums[direction + j] += s * y * x[j];
  sums[direction + d] += s * y;
}

/// max(0, z) of a row at another w.
double hinge_at(const double* x, double y, const std::vector<double>& w) {
  double f = w.back();
  for (std::size_t j = 0; j + 1 < w.size(); ++j) f += w[j] * x[j];
  const double z = 1 - y * f;
  return z > 0 || !(z == z) ? z : 0;
}

double compute_square_norm(const double* v, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += v[i] * v[i];
  return sum;
}

/// Newton's method may evaluate P further times after its last step: at w, for another slope, and
/// at the best w.
constexpr double most_further_evaluations = 3;

/// The error in the number of evaluations: 0 if the count is right and within the limit.
double wrong_evaluations(const SvmSolution& solution, const SvmClaims& claims) {
  const double further = claims.nelder_mead ? 0 : most_further_evaluations;
  return std::abs(static_cast<double>(solution.passes - solution.evaluations)) +
         std::max(0.0, static_cast<double>(solution.evaluations - claims.evaluations) - further);
}

/// The difference between the row's operations and those of the kernels. Nelder-Mead needs no
/// gradient, which is half of the operations of an evaluation. The kernel counts a Hessian matrix
/// as made from half of the rows, but any number of rows may have curvature.
double wrong_operations(const SvmSolution& solution, const SvmClaims& claims) {
  const auto width = static_cast<double>(claims.features + 1);
  const double evaluated = (claims.nelder_mead ? 0.5 : 1) * solution.flops,
               curved = solution.curved_rows * width * (width + 1);
  if (solution.operations == 0 && evaluated == 0) return 0;
  const double off = std::abs(solution.operations - evaluated - curved) +
                     std::max(0.0, curved - 2 * solution.curvature_flops);
  return off / evaluated;
}

/// Why a run that reports its gap has not reached the gap of the case.
std::string why_unreached(SvmEnd end) {
  switch (end) {
    case SvmEnd::evaluations:
      return ", which falls further with more evaluations (--evaluations),";
    case SvmEnd::rounding:
      return ", which rounding kept from falling further (--gap),";
    case SvmEnd::stuck:
      return ", where no step lowered P further (standardise the features, or give a larger "
             "--gap),";
    default:
      return "";
  }
}

/// A run that stopped before its gap can be right only if its kernel is right: the kernel's sums at
/// the last w and slope must be those of the rows, up to rounding. `roundoff`: error of a sum,
/// relative to its terms.
void add_sums(const SvmSolution& solution, const SvmClaims& claims, const std::vector<double>& sums,
              double roundoff, std::vector<Relation>& relations) {
  const std::vector<double>&w = solution.w, &gradient = solution.last.gradient;
  const double c = claims.cost, norm = compute_square_norm(w.data(), w.size());
  double off = gradient.size() == w.size() ? 0 : INFINITY;
  for (std::size_t j = 0; j < gradient.size() && j < w.size(); ++j) {
    const double difference = gradient[j] - (w[j] - c * sums[direction + j]);
    off += difference * difference;
  }
  relations.push_back({"dual", "|sum of s - own sum|", std::abs(solution.last.slack - sums[slack]),
                       sums[slack_doubt] + roundoff * sums[slack]});
  relations.push_back({"gradient", "||gradient - own gradient||", std::sqrt(off),
                       c * sums[pull_doubt] + roundoff * (std::sqrt(norm) + c * sums[pull])});
  relations.push_back({"smoothed objective", "|smoothed P - own smoothed P|",
                       std::abs(solution.last.smooth - norm / 2 - c * sums[smooth]),
                       c * sums[uncertain] + roundoff * (norm / 2 + c * sums[hinge])});
}

}  // namespace

SvmClaims::SvmClaims(const Settings& settings)
    : TableClaims(settings),
      nelder_mead(settings.at("algorithm") == "nelder_mead"),
      cost(std::stod(settings.at("cost"))),
      evaluations(nelder_mead ? 500 : 20000) {
  if (const std::string& text = settings.at("gap"); text != "none") gap = std::stod(text);
  if (const std::string& text = settings.at("evaluations"); text != "auto")
    evaluations = std::stoll(text);
}

SvmCheck verify_svm(const SvmSolution& solution, const SvmClaims& claims, const DataTable& table,
                    const RowPass& mine, RankCalls& ranks) {
  const std::size_t width = solution.w.size(), d = width - 1;
  const double slope = solution.slope > 0 ? solution.slope : any_slope;
  // Nelder-Mead that stops before its last evaluation must have a flat simplex.
  const bool stopped = claims.nelder_mead && solution.evaluations < claims.evaluations &&
                       solution.vertex.size() == width;
  // Error of sums of d + 1 terms in any order, in the kernel (with w rounded to the table's type)
  // and here. Such errors are random, so 8 deviations bound them. Equal rows have equal errors,
  // which add up.
  const double roundoff = 8 * std::sqrt(static_cast<double>(d) / 6 + 2) *
                          (unit_roundoff(mine.type) + unit_roundoff(DataType::fp64));
  const HessianCheck hessian(solution.hessian, mine.type, roundoff);
  const std::size_t own = direction + width;  // of add_row()
  const std::vector<double> sums = sums_over_ranks(
      table, mine, own + hessian.sums() + 1,
      [&](std::int64_t, std::span<const double> x, std::span<const double> labels,
          std::span<double> all) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
          add_row(&x[i * d], labels[i], solution.w, slope, roundoff, all.data());
          hessian.add_row(&x[i * d], labels[i], all.subspan(own));
          if (stopped) all.back() += hinge_at(&x[i * d], labels[i], solution.vertex);
        }
      },
      ranks);
  const double c = claims.cost, dual_norm = c * c * compute_square_norm(&sums[direction], width);
  const double primal = compute_square_norm(solution.w.data(), width) / 2 + c * sums[hinge];
  const double t = dual_norm > 0 ? std::min(1.0, c * sums[slack] / dual_norm) : 1;
  const double dual = t * c * sums[slack] - t * t * dual_norm / 2;
  const double gap = (primal - dual) / primal;

  const auto n = static_cast<double>(claims.rows);
  const double summed = 8 * std::sqrt(n) * unit_roundoff(DataType::fp64);
  const double rounding = 16 * std::sqrt(static_cast<double>(d)) * unit_roundoff(mine.type);
  std::vector<Relation> relations{all_rows(sums.back(), claims.rows)};
  const double error = summed + std::max(rounding, c * sums[uncertain] / primal);
  relations.push_back(
      {"objective", "|P - own P| / own P", std::abs(solution.objective - primal) / primal, error});
  // A run is not wrong if it says that it has not reached the gap, and has done all that it may.
  const bool unreached =
      solution.end != SvmEnd::reached && solution.gap > claims.gap &&
      (solution.end != SvmEnd::evaluations || solution.evaluations >= claims.evaluations);
  if (unreached) add_sums(solution, claims, sums, error_of_sums(n) + rounding, relations);
  if (hessian.sums() > 0) relations.push_back(hessian.relation(std::span(sums).subspan(own), n));
  const double rise = primal / (c * n) - 1;  // at w = 0 all rows have z = 1
  if (claims.nelder_mead)
    relations.push_back({"descent", "(P - P(0)) / P(0), without a duality gap to reach",
                         rise <= 0 ? 0 : rise, 0});  // keeps NaN
  relations.push_back({"evaluations",
                       "evaluations that the kernel did not make, or that --evaluations forbids",
                       wrong_evaluations(solution, claims), 0});
  relations.push_back(
      {"start", "|P where it began - P(0)| / P(0)", std::abs(solution.start / (c * n) - 1), 1e-12});
  relations.push_back({"sides", "rows that are on both sides, or on none",
                       std::abs(sums[right] + sums[wrong] - n), 0});
  relations.push_back({"operations",
                       "operations that the kernels did not make, as a part of theirs",
                       wrong_operations(solution, claims), 1e-9});
  if (claims.nelder_mead) {
    const double vertex =
        stopped ? compute_square_norm(solution.vertex.data(), width) / 2 + c * sums[sums.size() - 2]
                : primal;
    const double rest = stopped || solution.evaluations >= claims.evaluations ? 0 : INFINITY;
    relations.push_back({"stop", "(P at a vertex of the last simplex - P) / P(0)",
                         std::abs(vertex - primal) / (c * n) + rest,
                         flat_simplex + 4 * error * std::max(1.0, vertex / (c * n))});
  } else {  // last, because a run that violates only this relation may be right
    relations.push_back({"duality gap", "(P - D) / P" + why_unreached(solution.end), gap,
                         claims.gap + 4 * (summed + rounding)});
  }
  SvmCheck check{
      make_verification(relations, mine.range.count * table.features(), "all rows of the table"),
      sums[right] / n, primal, gap, error};
  if (unreached && check.verification.reason.starts_with("duality gap")) {
    check.verification.undecided = true;
    check.verification.wrong_elements = 0;
  }
  leave_undecided(check.verification, error,
                  "rounding of y f(x) exceeds the objective. Scale the features, or use fp64");
  return check;
}

}  // namespace assay
