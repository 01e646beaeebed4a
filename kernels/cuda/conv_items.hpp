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

template <class Stored>
struct ToFp32 {
  const Stored* from;
  float* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[i] = widen(from[i]); }
};

}  // namespace assay::cuda
