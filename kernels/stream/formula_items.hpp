#pragma once
// An element of copy, scale, add and triad as code of one thread, on the host or on a device
// (core/api/formula.hpp).

#include "core/api/expected.hpp"

namespace assay::stream {

/// of_a a + of_b b. Inputs: a, and if of_b is not 0, b.
struct Element {
  static constexpr const char* name = "stream element";
  double of_a = 1, of_b = 0;
  double u = 0;  ///< of a product and of a sum that round; 0: no error is allowed
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    const double a = of_a * in(0, i);
    if (of_b == 0) return {a, 0, 0};
    const double b = in(1, i), value = std::fma(of_b, b, a),
                 bound = u * (2 * std::fabs(value) + std::fabs(of_b * b));
    return {value, bound, bound};
  }
};

}  // namespace assay::stream
