#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/svm/svm.hpp"

namespace assay {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// At w = 0 every row has z = 1, so with a first slope below 1 all rows have curvature, and the
/// first step is that of least squares.
constexpr double first_slope = 0.5, largest_slope = 1e12;
/// Once the smoothed problem is solved, the remaining gap falls as the square of the hinge's width,
/// as long as many rows lie within this width. If there are fewer such rows than unknowns, some
/// directions have no curvature: then the width is only halved, so that the last solution is near
/// the next one.
constexpr double least_factor = 2, largest_factor = 16, margin = 1.5;
/// A step ends at a point where two conditions hold. The function has fallen all along the step, or
/// by at least least_decrease times the decrease that its gradient promises (Armijo). Its slope
/// there is at most largest_rise times the first slope. A step of length 1 may also end where the
/// function still falls.
constexpr double least_decrease = 1e-4, largest_rise = 0.5;
constexpr int most_trials = 40;
/// If rounding makes H singular, or if no step along -H^-1 g lowers the function, H + r I is used,
/// so that the step turns towards -g (K. Levenberg, A method for the solution of certain non-linear
/// problems in least squares, 1944). These are the values of r, relative to H's largest diagonal
/// element.
constexpr double dampings[] = {0, 1e-13, 1e-9, 1e-5, 1};
/// Rounding may hide the gain of a step that promises less than this many roundoffs of the
/// function.
constexpr double most_hidden = 1e4;
/// After this many steps without a smaller gap, the gap is as small as rounding permits.
constexpr int most_fruitless = 500;
/// The smoothed problem counts as solved if its own gap, ||g||^2 / 2, is at most this part of the
/// whole gap: the rest is then due to the width.
constexpr double solved_part = 0.25;

void count_evaluation(const SvmObjective& objective, SvmSolution& solution) {
  ++solution.evaluations;
  solution.evaluated_rows += objective.rows();
}

double compute_square_norm(const std::vector<double>& v) {
  return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}

}  // namespace

SvmNewton::SvmNewton(std::size_t dimensions)
    : direction_(dimensions), candidate_(dimensions), matrix_(dimensions * dimensions) {}

/// Sets direction_ = -(H + r I)^-1 g. Returns the slope of the function along it, which is
/// negative.
double SvmNewton::find_direction(SvmObjective& objective, const std::vector<double>& curvature,
                                 double damping) {
  const auto width = static_cast<Eigen::Index>(direction_.size());
  for (std::size_t i = 0; i < matrix_.size(); ++i)
    matrix_[i] = objective.cost() * slope_ * curvature[i];
  Eigen::Map<Matrix> hessian(matrix_.data(), width, width);
  hessian.diagonal().array() += 1 + damping * hessian.diagonal().maxCoeff();
  const Eigen::Map<const Eigen::VectorXd> gradient(value_.gradient.data(), width);
  Eigen::Map<Eigen::VectorXd> direction(direction_.data(), width);
  const Eigen::LLT<Eigen::Ref<Matrix>> factors(hessian);  // in place
  direction = factors.solve(-gradient);
  objective.ranks().broadcast(direction_);  // all ranks must decide the same
  return gradient.dot(direction);
}

/// Searches along direction_, where the slope of the function is `first`. True if it found a lower
/// value. The function is convex, so its derivative increases along the step. So the minimum lies
/// between the longest tried step after which it still falls and the shortest after which it rises.
/// A secant of the derivative finds the minimum, even if the first step was much too long.
bool SvmNewton::search(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution,
                       double first) {
  double low = 0, low_rise = first, high = std::numeric_limits<double>::infinity(), high_rise = 0,
         length = 1;
  for (int trial = 0; trial < most_trials && solution.evaluations < settings.evaluations; ++trial) {
    for (std::size_t j = 0; j < candidate_.size(); ++j)
      candidate_[j] = solution.w[j] + length * direction_[j];
    objective.evaluate(candidate_, slope_, trial_);
    count_evaluation(objective, solution);
    const double rise =
        std::inner_product(direction_.begin(), direction_.end(), trial_.gradient.begin(), 0.0);
    const bool falls = rise <= 0,  // all along the step
        ends = falls ? trial == 0 || rise >= largest_rise * first : rise <= -largest_rise * first;
    if (ends && trial_.smooth <= value_.smooth + (falls ? 0 : least_decrease * length * first)) {
      std::swap(solution.w, candidate_);
      std::swap(value_, trial_);
      return true;
    }
    // Halves the slope at an end that stays, because otherwise the secant would remain on one side
    // of a kink (the Illinois method).
    if (falls) {
      low = length;
      low_rise = rise;
      high_rise /= 2;
    } else {
      high = length;
      high_rise = rise;
      if (trial > 0) low_rise /= 2;
    }
    length =
        std::isinf(high) ? 2 * length : low + (high - low) * -low_rise / (high_rise - low_rise);
    if (!(low < length && length < high)) return false;  // or NaN
  }
  return false;
}

/// One step at the present slope.
SvmNewton::Outcome SvmNewton::step(SvmObjective& objective, const SvmSettings& settings,
                                   SvmSolution& solution) {
  if (compute_square_norm(value_.gradient) / 2 <= solved_part * (value_.primal - value_.dual))
    return Outcome::solved;
  const std::vector<double>& curvature = objective.curvature();
  ++solution.steps;
  solution.hessian.w = solution.w;
  solution.hessian.slope = slope_;
  solution.curved_rows += curvature.back();  // the product of the columns of ones
  double promised = 0;                       // decrease that the undamped step promises
  for (const double damping : dampings) {
    const double first = find_direction(objective, curvature, damping);
    if (damping == 0) promised = -first;
    if (first < 0 && search(objective, settings, solution, first)) return Outcome::moved;
  }
  // w does not change, so s is computed for w again.
  objective.evaluate(solution.w, slope_, value_);
  count_evaluation(objective, solution);
  const double roundoff = unit_roundoff(objective.x().spec().type);
  return promised <= most_hidden * roundoff * value_.smooth ? Outcome::hidden : Outcome::stuck;
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
  solution.end = SvmEnd::reached;
  while (value_.gap() > settings.gap && solution.evaluations < settings.evaluations) {
    fruitless = keeps(solution) ? 0 : fruitless + 1;
    if (fruitless > most_fruitless) {
      solution.end = SvmEnd::rounding;
      break;
    }
    const Outcome outcome = step(objective, settings, solution);
    if (outcome == Outcome::moved) continue;
    if (outcome != Outcome::solved || slope_ >= largest_slope) {
      solution.end = outcome == Outcome::stuck ? SvmEnd::stuck : SvmEnd::rounding;
      break;
    }
    slope_ *=
        std::clamp(std::sqrt(margin * value_.gap() / settings.gap), least_factor, largest_factor);
    evaluate();
  }
  if (std::isfinite(best_gap_) && !(value_.gap() <= best_gap_)) {
    solution.w = best_w_;
    slope_ = best_slope_;
    evaluate();
  }
  if (value_.gap() <= settings.gap)
    solution.end = SvmEnd::reached;
  else if (solution.evaluations >= settings.evaluations)
    solution.end = SvmEnd::evaluations;
  solution.slope = slope_;
  solution.objective = value_.primal;
  solution.gap = value_.gap();
  solution.last = value_;
}

/// Keeps w if its gap is the smallest so far. True if it is.
bool SvmNewton::keeps(const SvmSolution& solution) {
  if (!(value_.gap() < best_gap_)) return false;
  best_gap_ = value_.gap();
  best_slope_ = slope_;
  best_w_ = solution.w;
  return true;
}

}  // namespace assay
