#pragma once
// The products of an element of C as code of one thread of a device
// (kernels/oracle/part_of_sum.hpp). The host has its own loops (oracle.cpp).

#include <cstdint>

#include "core/api/item_code.hpp"

namespace assay::matrix_product {

/// A stored matrix: distances in elements.
struct Steps {
  std::int64_t batch = 0, output = 0, sum = 0;  ///< of matrices, of op(A)'s rows or op(B)'s
                                                ///< columns, along the sum
};

struct Products {
  static constexpr const char* name = "gemm part of a sum";
  Steps a, b;
  std::int64_t m = 1, n = 1, ldc = 1;
  std::int64_t batch = 1;  ///< not read: a device is trusted for one shape at a time
  /// An element of the padding has no products.
  ASSAY_ITEM bool find(std::int64_t output, std::int64_t number, std::int64_t& of_a,
                       std::int64_t& of_b) const {
    const std::int64_t row = output % ldc, column = output / ldc % n, batch = output / ldc / n;
    of_a = batch * a.batch + row * a.output + number * a.sum;
    of_b = batch * b.batch + column * b.output + number * b.sum;
    return row < m;
  }
};

}  // namespace assay::matrix_product
