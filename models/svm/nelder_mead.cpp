#include "models/svm/nelder_mead.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double reflection = 1, contraction = 0.5, expansion = 2;
constexpr double relative_tolerance = 1.490116e-08;  // sqrt of the spacing of fp64, optim's reltol
constexpr double first_step = 0.1;

}  // namespace

NelderMead::NelderMead(std::size_t dimensions)
    : dimensions_(dimensions),
      vertices_((dimensions + 1) * dimensions),
      values_(dimensions + 1),
      centre_(dimensions),
      reflected_(dimensions),
      other_(dimensions) {}

double NelderMead::evaluate(std::span<const double> x) {
  if (evaluations_ >= most_) return std::numeric_limits<double>::infinity();
  ++evaluations_;
  return (*function_)(x);
}

void NelderMead::order() {
  best_ = worst_ = 0;
  for (std::size_t i = 1; i < values_.size(); ++i) {
    if (values_[i] < values_[best_]) best_ = i;
    if (values_[i] >= values_[worst_]) worst_ = i;
  }
}

void NelderMead::first_simplex(std::span<const double> x) {
  double size = 0;
  for (const double value : x) size = std::max(size, first_step * std::abs(value));
  if (size == 0) size = first_step;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::copy(x.begin(), x.end(), vertex(i).begin());
    if (i > 0) vertex(i)[i - 1] += size;
    values_[i] = evaluate(vertex(i));
  }
}

double NelderMead::along(double factor, std::span<const double> from, std::span<double> to) {
  for (std::size_t j = 0; j < dimensions_; ++j)
    to[j] = centre_[j] + factor * (from[j] - centre_[j]);
  return evaluate(to);
}

void NelderMead::replace_worst(std::span<const double> by, double value) {
  std::copy(by.begin(), by.end(), vertex(worst_).begin());
  values_[worst_] = value;
}

void NelderMead::shrink() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i == best_) continue;
    for (std::size_t j = 0; j < dimensions_; ++j)
      vertex(i)[j] = vertex(best_)[j] + contraction * (vertex(i)[j] - vertex(best_)[j]);
    values_[i] = evaluate(vertex(i));
  }
}

void NelderMead::step() {
  std::fill(centre_.begin(), centre_.end(), 0);
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (i != worst_)
      for (std::size_t j = 0; j < dimensions_; ++j)
        centre_[j] += vertex(i)[j] / static_cast<double>(dimensions_);
  const double value = along(-reflection, vertex(worst_), reflected_);
  if (value < values_[best_]) {
    const double farther = along(expansion, reflected_, other_);
    if (farther < value)
      replace_worst(other_, farther);
    else
      replace_worst(reflected_, value);
    return;
  }
  const double before = values_[worst_];
  if (value < before) replace_worst(reflected_, value);
  const double nearer = along(contraction, vertex(worst_), other_);
  if (nearer < values_[worst_])
    replace_worst(other_, nearer);
  else if (value >= before)
    shrink();
}

double NelderMead::minimise(const std::function<double(std::span<const double>)>& function,
                            std::span<double> x, int most) {
  function_ = &function;
  evaluations_ = 0;
  most_ = most;
  first_simplex(x);
  const double enough = relative_tolerance * (std::abs(values_[0]) + relative_tolerance);
  order();
  while (evaluations_ < most_ && values_[worst_] > values_[best_] + enough) {
    step();
    order();
  }
  std::copy(vertex(best_).begin(), vertex(best_).end(), x.begin());
  return values_[best_];
}

}  // namespace assay
