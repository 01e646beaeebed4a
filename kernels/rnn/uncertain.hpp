#pragma once
// A number with the variance of its rounding errors. Arithmetic propagates the variance to first
// order, as if errors of different operations were independent. The reference of the recurrence is
// computed with such numbers, and their variances give the error bound (docs/method-rnn.md).

#include <algorithm>
#include <cmath>

#include "kernels/oracle/sums.hpp"

namespace assay::recurrent {

/// Unit roundoff of fp32, the type of all arithmetic between two products.
constexpr double u_fp32 = 0x1p-24;
/// Variance of a rounding error that is uniform in [-u value, u value].
constexpr double compute_variance(double u, double value) { return u * u * value * value / 3; }
/// Relative error of approximations of exp and tanh: a few units in the last place.
constexpr double u_function = 6 * u_fp32;

/// The errors of matrix products in the arithmetic of a row.
struct Products {
  bool loses_operands = false;  ///< operands are rounded to tf32
  bool truncates = false;       ///< sums are truncated, as in tensor cores
  /// True if values may be rounded to the 16 bits of the tensors between two operations: those that
  /// products multiply, and all others (docs/method-rnn.md).
  bool stores_operands = true, stores_others = true;
  /// Number of sums of a gate that are each rounded to these types before they are added: the sum
  /// over inputs, and that over states.
  int stored_sums = 0;
  /// Variance of the error of a sum of products, over its squared norm (docs/method-conv.md).
  double variance(double terms) const {
    const double operands = loses_operands ? sums::tf32_deviation : 0;
    return u_fp32 * u_fp32 * sums::variance_of_sum(terms, truncates) + operands * operands;
  }
};

struct UncertainNumber {
  double value = 0, variance = 0;
};

inline UncertainNumber rounded(double value, double variance) {
  return {value, variance + compute_variance(u_fp32, value)};
}
inline UncertainNumber operator+(const UncertainNumber& a, const UncertainNumber& b) {
  return rounded(a.value + b.value, a.variance + b.variance);
}
inline UncertainNumber operator-(const UncertainNumber& a, const UncertainNumber& b) {
  return rounded(a.value - b.value, a.variance + b.variance);
}
inline UncertainNumber operator*(const UncertainNumber& a, const UncertainNumber& b) {
  return rounded(a.value * b.value,
                 a.value * a.value * b.variance + b.value * b.value * a.variance);
}
inline UncertainNumber operator-(double a, const UncertainNumber& b) {
  return rounded(a - b.value, b.variance);
}

/// The number rounded to a type with the unit roundoff `u` (0: not rounded).
inline UncertainNumber round_stored(const UncertainNumber& a, double u) {
  return {a.value, a.variance + compute_variance(u, a.value)};
}

/// Variance of the error of rounding `value` to a type with the unit roundoff `u`. The error is at
/// most half a unit in the last place, and this unit is the same for all numbers between two powers
/// of two.
inline double variance_of_storing(double u, double value) {
  return value == 0 ? 0 : compute_variance(u, std::ldexp(1.0, std::ilogb(value)));
}

inline UncertainNumber logistic(const UncertainNumber& z) {
  const double y = 1 / (1 + std::exp(-z.value)), slope = y * (1 - y);
  return {y, slope * slope * z.variance + compute_variance(u_function, y)};
}
inline UncertainNumber hyperbolic(const UncertainNumber& z) {
  const double y = std::tanh(z.value), slope = 1 - y * y;
  return {y, slope * slope * z.variance + compute_variance(u_function, y)};
}
inline UncertainNumber rectify(const UncertainNumber& z) {
  return {std::max(z.value, 0.0), z.value > 0 ? z.variance : z.variance / 2};
}

/// Derivatives, computed from the values of the functions.
inline UncertainNumber slope_of_logistic(const UncertainNumber& y) { return y * (1.0 - y); }
inline UncertainNumber slope_of_tanh(const UncertainNumber& y) { return 1.0 - y * y; }
/// The derivative of max(z, 0). If z is not larger than its error, the derivative may be wrong.
inline UncertainNumber slope_of_rectified(const UncertainNumber& z) {
  // exp(-z^2 / (8 variance)) is the tail of a Gaussian with twice the deviation, a margin for
  // heavier tails. A quarter, because the error is at most 1, and bounds are many deviations.
  const double doubt = z.variance > 0 ? std::exp(-z.value * z.value / (8 * z.variance)) : 0;
  return {z.value > 0 ? 1.0 : 0.0, doubt / 4};
}

}  // namespace assay::recurrent
