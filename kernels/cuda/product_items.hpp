#pragma once
// The items (item.hpp) that multiply matrices for references, in fp64.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Rows of a product that a thread computes, so that each number of b that it reads serves all of
/// them.
inline constexpr int rows_of_product = 8;

/// c[part][m][n] = a b for `each` of the k terms in each part; the sum of the parts is the product.
/// A thread computes one column of rows_of_product rows, in one part.
struct MultiplyRows {
  const double* a;  ///< [rows / rows_of_product][k][rows_of_product], with zeros in rows after m
  const float* b;   ///< [k][n], rows ldb apart
  std::int64_t ldb;
  double* c;
  std::int64_t m, n, k, each;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t groups = (m + rows_of_product - 1) / rows_of_product, column = i % n,
                       group = i / n % groups, part = i / n / groups, first = part * each,
                       last = first + each < k ? first + each : k;
    double sums[rows_of_product] = {};
    for (std::int64_t term = first; term < last; ++term) {
      double rows[rows_of_product];
      for (int r = 0; r < rows_of_product; r += widest<double>)
        load<widest<double>>(a + (group * k + term) * rows_of_product + r, rows + r);
      const double x = static_cast<double>(b[term * ldb + column]);
      for (int r = 0; r < rows_of_product; ++r) sums[r] += rows[r] * x;
    }
    for (int r = 0; r < rows_of_product; ++r) {
      const std::int64_t row = group * rows_of_product + r;
      if (row < m) c[(part * m + row) * n + column] = sums[r];
    }
  }
};

}  // namespace assay::cuda
