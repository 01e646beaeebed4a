#pragma once
// The reference of an update as code of one thread, on the host or on a device
// (core/api/formula.hpp). Definitions: kernels/update/problem.hpp; bounds:
// docs/method-training.md.

#include "kernels/oracle/sum_bound.hpp"
#include "kernels/update/step.hpp"

namespace assay::update {

/// A number, and the largest error that a correct implementation may have.
struct Number {
  double value = 0, error = 0;
};

/// One parameter after the update.
struct UpdateResult {
  Number velocity, second, weight;
  double step = 0, step_error = 0;  ///< the part taken off
};

/// One tensor: a row of the formulas' table.
struct Row {
  double begin = 0;  ///< its first element
  UpdateStep<double> factors{};
  double of_norms = 0;  ///< relative errors of the factors due to those of the norms
};
inline constexpr std::size_t numbers_of_row = sizeof(Row) / sizeof(double);

/// The row of the tensor that contains element i.
ASSAY_ITEM const Row& find_row(const double* table, std::int64_t rows, std::int64_t i) {
  const auto* const all = reinterpret_cast<const Row*>(table);
  std::int64_t first = 0, last = rows;
  while (last - first > 1) {
    const std::int64_t middle = (first + last) / 2;
    (all[middle].begin <= static_cast<double>(i) ? first : last) = middle;
  }
  return all[first];
}

/// Settings that all elements share. Inputs of all formulas: gradient, weights, velocity and,
/// except for momentum, second.
struct Elements {
  UpdateLoop loop{};
  bool lamb = false;
  bool narrow = false;  ///< weights are fp32
  double u = 0;         ///< of the arithmetic
  double smallest = 0;  ///< smallest number of full accuracy
  std::int64_t rows = 0;

  template <class In>
  ASSAY_ITEM UpdateResult compute_update(const In& in, const double* table, std::int64_t i) const {
    const double second = loop == UpdateLoop::momentum ? 0 : in(3, i);
    return compute_update(find_row(table, rows, i), in(0, i), in(1, i), in(2, i), second);
  }

  /// The value in the type that is stored.
  ASSAY_ITEM double rounded(double weight) const {
    return narrow ? static_cast<double>(static_cast<float>(weight)) : weight;
  }

 private:
  /// h / (of_root sqrt(s) + epsilon), for an s with an error.
  ASSAY_ITEM Number divide(const Number& h, const Number& s, const UpdateStep<double>& f) const {
    const double below = s.value - s.error, of_s = std::sqrt(s.value),
                 of_below = std::sqrt(below > 0 ? below : 0), roots = of_s + of_below,
                 root = f.of_root * of_s + f.epsilon, lower = f.of_root * of_below + f.epsilon,
                 least = lower * (1 - 8 * u), value = h.value / root;
    // of_s - of_below, and root - least, in a form without cancellation.
    const double apart = roots > 0 ? (below > 0 ? s.error : s.value) / roots : 0,
                 more = f.of_root * apart + 8 * u * lower;
    return {value, h.error / least + std::fabs(value) * (more / least + 2 * u)};
  }

  /// The relative error of a factor: 8u, from three products, and that of the norms.
  ASSAY_ITEM UpdateResult compute_update(const Row& row, double g, double w, double v,
                                         double s) const {
    const UpdateStep<double>& f = row.factors;
    const double of_norms = lamb ? 0 : row.of_norms, kept = f.keep * v, of_g = f.of_gradient * g,
                 of_w = f.of_weight * w;
    UpdateResult update;
    Number h{of_g + of_w, (10 * u + of_norms) * (std::fabs(of_g) + std::fabs(of_w))};
    Number step;
    if (loop == UpdateLoop::momentum) {
      update.velocity = {kept + h.value, 4 * u * std::fabs(kept) + h.error};
      step = update.velocity;
    } else {
      h.error += smallest;  // a small epsilon enlarges it
      update.second = {f.keep_second * s + f.add_second * (h.value * h.value),
                       4 * u * f.keep_second * s + smallest +
                           f.add_second * (6 * u * (h.value * h.value) +
                                           (2 * std::fabs(h.value) + h.error) * h.error)};
      const double add = loop == UpdateLoop::moments ? f.add : 1;
      Number more{add * h.value, add * (h.error + 4 * u * std::fabs(h.value)) + smallest};
      if (loop == UpdateLoop::rmsprop) more = divide(more, update.second, f);
      update.velocity = {kept + more.value, 4 * u * std::fabs(kept) + more.error +
                                                u * std::fabs(more.value) + smallest};
      step = update.velocity;
    }
    if (loop == UpdateLoop::moments) {
      const Number first{f.of_first * step.value,
                         f.of_first * (step.error + 4 * u * std::fabs(step.value))};
      step = divide(first, update.second, f);
      const double decayed = f.of_decay * w;
      step.error += 4 * u * (std::fabs(step.value) + std::fabs(decayed));
      step.value += decayed;
    }
    update.step = f.of_velocity * step.value;
    update.weight.value = w - update.step;
    update.step_error =
        f.of_velocity * step.error + (3 * u + (lamb ? row.of_norms : 0)) * std::fabs(update.step);
    // The error of this subtraction is added.
    update.weight.error = update.step_error + 0x1p-53 * std::fabs(w);
    return update;
  }
};

/// An element of an output: weights, the stored copy of weights, velocity, or second.
struct Element : Elements {
  static constexpr const char* name = "update element";
  sums::SumBound bound;
  enum class Kind { weights, stored, velocity, second } kind = Kind::weights;
  bool kept = false;  ///< nothing is updated
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    if (kept) return {in(kind == Kind::velocity ? 2 : kind == Kind::second ? 3 : 1, i), 0, 0};
    const UpdateResult step = compute_update(in, table, i);
    const Number& number = kind == Kind::velocity ? step.velocity
                           : kind == Kind::second ? step.second
                                                  : step.weight;
    // Stored weights are rounded from the master copy, which is already rounded.
    const double error = number.error + (kind == Kind::stored ? u * std::fabs(number.value) : 0);
    return bound.rounded(number.value, error, error);
  }
};

/// Sums over a tensor that begins at element `begin`: of g^2 and w^2, and the numbers of gradients
/// that are not finite or 0. Inputs: gradient, weights.
struct SquareSums {
  static constexpr const char* name = "update square sums";
  static constexpr int terms = 4;
  static constexpr int magnitudes[terms] = {0, 1, 2, 3};  ///< the sum that bounds each
  std::int64_t begin = 0;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double*, std::int64_t i, double* to) const {
    const double g = in(0, begin + i), w = in(1, begin + i);
    to[0] = g * g;
    to[1] = w * w;
    to[2] = g - g == 0 ? 0 : 1;
    to[3] = g == 0 ? 1 : 0;
  }
};

/// Sums of the squares of weights, steps and errors of steps.
struct StepSums : Elements {
  static constexpr const char* name = "update step sums";
  static constexpr int terms = 3;
  static constexpr int magnitudes[terms] = {0, 1, 2};
  std::int64_t begin = 0;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i, double* to) const {
    const double w = in(1, begin + i);
    const UpdateResult update = compute_update(in, table, begin + i);
    to[0] = w * w;
    to[1] = update.step * update.step;
    to[2] = update.step_error * update.step_error;
  }
};

/// The numbers of stale weights, and of weights that may or may not be stale. A weight may be stale
/// if its step, including the error, may be less than half a unit in the weight's last place. This
/// includes small steps that are differences of large parts, if their error exceeds that unit. If
/// the exact step may have been 0, it is uncertain whether the weight is stale.
struct StaleSums : Elements {
  static constexpr const char* name = "update stale sums";
  static constexpr int terms = 2;
  static constexpr int magnitudes[terms] = {0, 1};
  std::int64_t begin = 0;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i, double* to) const {
    const double w = in(1, begin + i);
    const UpdateResult update = compute_update(in, table, begin + i);
    to[0] = to[1] = 0;
    if (update.step == 0 && update.step_error == 0) return;
    const double error = update.weight.error, low = rounded(update.weight.value - error),
                 high = rounded(update.weight.value + error);
    const bool may = low <= w && w <= high,
               must =
                   low == w && high == w && std::fabs(update.step) > update.step_error + smallest;
    if (update.step != 0 && rounded(update.weight.value) == w) to[0] = 1;
    if (may && !must) to[1] = 1;
  }
};

}  // namespace assay::update
