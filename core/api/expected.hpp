#pragma once
// The expected value of one element, and the result of a comparison with it, on the host or on a
// device (item_code.hpp).

#include <cmath>
#include <cstdint>

#include "core/api/item_code.hpp"

namespace assay {

/// The expected value of one output element, and the allowed error.
struct Expected {
  double value = 0;      ///< fp64, not rounded to the output's type
  double max_bound = 0;  ///< |computed - value| must not exceed it; 0: computed must equal the
                         ///< value rounded to the output's type
  double rms_bound = 0;  ///< for the test of the norm: over the sample, ||computed - value||_2 must
                         ///< not exceed ||rms_bound||_2
};

/// Compares elements one by one, and keeps sums and the worst element.
struct ElementComparison {
  std::int64_t count = 0, wrong = 0;
  std::int64_t bad = 0;  ///< elements that are not results (NaN, infinite, the smallest s32)
  double error_squares = 0, bound_squares = 0, most_squares = 0, reference_squares = 0;
  double max_error = 0;                 ///< the largest finite one
  double least_bound = 0, largest = 0;  ///< of max_bound, of |value|
  double worst_ratio = -1;              ///< the largest error / max_bound
  std::int64_t worst = 0;               ///< the element with this ratio, and its values:
  double actual = 0, target = 0, bound = 0;

  /// Adds element `index`, whose value is `value` and should be `right`. `is_bad`: `value` is NaN
  /// or infinite.
  ASSAY_ITEM void add(std::int64_t index, double value, double right, bool is_bad,
                      const Expected& want) {
    const double error = std::fabs(value - right), size = std::fabs(want.value);
    const bool finite = error - error == 0;
    reference_squares += want.value * want.value;
    bound_squares += want.rms_bound * want.rms_bound;
    most_squares += want.max_bound * want.max_bound;
    if (count++ == 0 || want.max_bound < least_bound) least_bound = want.max_bound;
    if (size > largest) largest = size;
    error_squares += error * error;
    if (!(error <= want.max_bound)) ++wrong;  // NaN is wrong, too
    if (is_bad) ++bad;
    const double ratio = error == 0 ? 0 : finite ? error / want.max_bound : HUGE_VAL;
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = index;
      actual = value;
      target = right;
      bound = want.max_bound;
    }
    if (finite && error > max_error) max_error = error;
  }

  /// Adds a comparison of other elements. If two elements are equally bad, the first is reported.
  ASSAY_ITEM void add(const ElementComparison& other) {
    if (other.count == 0) return;
    if (count == 0 || other.least_bound < least_bound) least_bound = other.least_bound;
    if (other.largest > largest) largest = other.largest;
    if (other.max_error > max_error) max_error = other.max_error;
    if (other.worst_ratio > worst_ratio ||
        (other.worst_ratio == worst_ratio && other.worst < worst)) {
      worst_ratio = other.worst_ratio;
      worst = other.worst;
      actual = other.actual;
      target = other.target;
      bound = other.bound;
    }
    count += other.count;
    wrong += other.wrong;
    bad += other.bad;
    error_squares += other.error_squares;
    bound_squares += other.bound_squares;
    most_squares += other.most_squares;
    reference_squares += other.reference_squares;
  }
};

}  // namespace assay
