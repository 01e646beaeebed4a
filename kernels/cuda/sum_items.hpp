#pragma once
// The items (item.hpp) of sums of two tensors.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Adds as many of n elements as one load reads. 16-bit elements are added in fp32; the result
/// equals one rounding (kernels/sum/problem.cpp).
template <class Stored>
struct Add {
  static constexpr int width = widest<Stored>;
  const Stored *a, *b;
  Stored* to;
  std::int64_t n;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = i * width;
    if (first + width > n) {
      for (std::int64_t j = first; j < n; ++j) to[j] = narrow<Stored>(widen(a[j]) + widen(b[j]));
      return;
    }
    ValueOf<Stored> x[width], y[width];
    load<width>(a + first, x);
    load<width>(b + first, y);
    for (int j = 0; j < width; ++j) x[j] += y[j];
    store<width>(x, to + first);
  }
};

}  // namespace assay::cuda
