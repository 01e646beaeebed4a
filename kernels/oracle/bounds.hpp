#pragma once
// Error bounds of results whose rounding errors have a known variance: docs/method-linalg.md.

#include <cmath>
#include <cstddef>

#include "kernels/oracle/sums.hpp"

namespace assay::sums {

constexpr double u_fp64 = 0x1p-53;
inline double square(double value) { return value * value; }

/// Variance of the rounding errors, over u^2, of a sum of n terms in any order: `squares` is the
/// sum of the squared terms, and `value` the sum, towards which partial sums drift.
inline double variance_of_sum(double n, double squares, double value) {
  return variance_of_sum(n, false) * (squares + 2.0 / 3 * square(value));
}

/// The tails and norms of docs/method-conv.md, for results of any type.
class Bounds : public ErrorModel {
 public:
  Bounds(Precision precision, const Execution& execution, DataType output, std::size_t samples)
      : ErrorModel(precision, execution, samples) {
    u_out = unit_roundoff(output);
  }
  /// `variance`: of the errors before the result is rounded to its type.
  Expected expected(double value, double variance) const {
    const double deviation = std::sqrt(variance);
    return rounded(value, deviations * deviation, norm_deviations * deviation);
  }
  Expected expected(const Approximate& number) const {
    return rounded(number.value, number.error, number.error);
  }
};

}  // namespace assay::sums
