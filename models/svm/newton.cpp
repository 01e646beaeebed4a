#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/svm/svm.hpp"

namespace assay {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// At w = 0 every row has z = 1: below 1 the first slope makes all of them curved, and the first
/// step is that of least squares.
constexpr double first_slope = 0.5, largest_slope = 1e12;
/// Where the smoothed problem is solved the gap that is left falls as the square of the hinge's
/// width, as long as many rows lie within it. Fewer than the unknowns leave directions without
/// curvature: then the width is halved, and the last solution is near the next one.
constexpr double least_factor = 2, largest_factor = 16, margin = 1.5;
/// A step ends where the function falls by this part of what its gradient promises (Armijo) and
/// rises along the step with at most this part of its first slope.
constexpr double least_decrease = 1e-4, largest_rise = 0.5;
constexpr int most_trials = 20;
/// After so many steps without a smaller gap it is as small as rounding permits.
constexpr int most_fruitless = 500;
/// The smoothed problem counts as solved where its own gap, which is ||g||^2 / 2, is this part of
/// the whole gap: the rest is due to the width.
constexpr double solved_part = 0.25;

void count_evaluation(const SvmObjective& objective, SvmSolution& solution) {
  ++solution.evaluations;
  solution.evaluated_rows += objective.rows();
}

double squared(const std::vector<double>& v) {
  return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}

}  // namespace

SvmNewton::SvmNewton(std::size_t dimensions)
    : direction_(dimensions), candidate_(dimensions), matrix_(dimensions * dimensions) {}

/// direction_ = -H^-1 g; the slope of the function along it, which is negative.
double SvmNewton::find_direction(SvmObjective& objective) {
  const auto width = static_cast<Eigen::Index>(direction_.size());
  const std::vector<double>& curvature = objective.curvature();
  curved_rows_ = curvature.back();  // the product of the columns of ones
  for (std::size_t i = 0; i < matrix_.size(); ++i)
    matrix_[i] = objective.cost() * slope_ * curvature[i];
  Eigen::Map<Matrix> hessian(matrix_.data(), width, width);
  hessian.diagonal().array() += 1;
  const Eigen::Map<const Eigen::VectorXd> gradient(value_.gradient.data(), width);
  Eigen::Map<Eigen::VectorXd> direction(direction_.data(), width);
  const Eigen::LLT<Eigen::Ref<Matrix>> factors(hessian);  // in place
  direction = factors.solve(-gradient);
  objective.ranks().broadcast(direction_);  // decisions must not differ
  return gradient.dot(direction);
}

/// One step at the present slope; false where the smoothed problem is solved. The function is
/// convex along the step: where it rises at the end, the minimum lies before, and a secant of its
/// derivative finds it, however far the step went too far.
bool SvmNewton::step(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution) {
  if (squared(value_.gradient) / 2 <= solved_part * (value_.primal - value_.dual)) return false;
  const double first = find_direction(objective);
  ++solution.steps;
  solution.curved_rows += curved_rows_;
  double low = 0, low_rise = first, length = 1;
  for (int trial = 0; trial < most_trials && solution.evaluations < settings.evaluations; ++trial) {
    for (std::size_t j = 0; j < candidate_.size(); ++j)
      candidate_[j] = solution.w[j] + length * direction_[j];
    objective.evaluate(candidate_, slope_, trial_);
    count_evaluation(objective, solution);
    const double rise =
        std::inner_product(direction_.begin(), direction_.end(), trial_.gradient.begin(), 0.0);
    if (rise <= -largest_rise * first &&
        trial_.smooth <= value_.smooth + least_decrease * length * first) {
      std::swap(solution.w, candidate_);
      std::swap(value_, trial_);
      return true;
    }
    const double high = length;
    if (rise > 0) {
      length = low + (high - low) * -low_rise / (rise - low_rise);
      low_rise /= 2;  // else the secant stays on one side of a kink (the Illinois method)
    } else {
      low = length;  // rounding hides the decrease
      low_rise = rise;
      length *= 2;
    }
  }
  // No decrease within rounding: w stays, and s must be that of w again.
  objective.evaluate(solution.w, slope_, value_);
  count_evaluation(objective, solution);
  return false;
}

void SvmNewton::start(SvmSolution& solution) const {
  std::fill(solution.w.begin(), solution.w.end(), 0);
  solution.slope = first_slope;
  solution.start = std::numeric_limits<double>::quiet_NaN();
  solution.evaluations = solution.steps = 0;
  solution.evaluated_rows = solution.curved_rows = 0;
}

void SvmNewton::run(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution) {
  slope_ = solution.slope;
  best_gap_ = std::numeric_limits<double>::infinity();
  const auto evaluate = [&] {
    objective.evaluate(solution.w, slope_, value_);
    count_evaluation(objective, solution);
  };
  evaluate();
  if (std::isnan(solution.start)) solution.start = value_.primal;
  int fruitless = 0;
  while (value_.gap() > settings.gap && solution.evaluations < settings.evaluations) {
    fruitless = keeps(solution) ? 0 : fruitless + 1;
    if (fruitless > most_fruitless) break;
    if (step(objective, settings, solution)) continue;
    if (value_.gap() <= settings.gap || slope_ >= largest_slope) break;
    slope_ *=
        std::clamp(std::sqrt(margin * value_.gap() / settings.gap), least_factor, largest_factor);
    evaluate();
  }
  if (std::isfinite(best_gap_) && !(value_.gap() <= best_gap_)) {
    solution.w = best_w_;
    slope_ = best_slope_;
    evaluate();
  }
  solution.slope = slope_;
  solution.objective = value_.primal;
  solution.gap = value_.gap();
}

/// Keeps w if its gap is the smallest so far; whether it is.
bool SvmNewton::keeps(const SvmSolution& solution) {
  if (!(value_.gap() < best_gap_)) return false;
  best_gap_ = value_.gap();
  best_slope_ = slope_;
  best_w_ = solution.w;
  return true;
}

}  // namespace assay
