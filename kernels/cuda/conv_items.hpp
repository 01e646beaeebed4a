#pragma once
// The items (item.hpp) of convolutions: filters between their two orders, inputs between types.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// to [n, columns, rows] = from [n, rows, columns].
template <class Stored>
struct Transpose {
  const Stored* from;
  Stored* to;
  std::int64_t rows, columns;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t matrix = i / (rows * columns) * (rows * columns),
                       column = i / rows % columns;
    to[i] = from[matrix + i % rows * columns + column];
  }
};

/// Widens as many of n 16-bit elements as one load reads.
template <class Stored>
struct ToFp32 {
  static constexpr int width = widest<Stored>;
  const Stored* from;
  float* to;
  std::int64_t n;
  static std::int64_t items(std::int64_t elements) { return (elements + width - 1) / width; }
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = i * width;
    if (first + width > n) {
      for (std::int64_t j = first; j < n; ++j) to[j] = widen(from[j]);
      return;
    }
    float values[width];
    load<width>(from + first, values);
    store<width / 2>(values, to + first);
    store<width / 2>(values + width / 2, to + first + width / 2);
  }
};

}  // namespace assay::cuda
