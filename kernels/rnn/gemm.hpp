#pragma once
// Matrix products in fp64 for the reference of recurrent networks.

#include <cstdint>

namespace assay::recurrent {

/// Number of values above which several threads are faster than one.
constexpr std::int64_t worth_threads = 20000;
/// Number of cells of a step above which several threads are faster: the functions of a cell take
/// about 0.1 us.
constexpr std::int64_t worth_threads_of_cells = 1250;

/// c[m x n] = a[m x k] b[k x n], or c += a b if `add` is true, by OpenMP's threads. All matrices
/// are row-major; lda, ldb and ldc are the distances of their rows in elements. b may be stored as
/// fp32, which holds fp32, bf16 and fp16 exactly.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const float* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add);
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const double* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add);

}  // namespace assay::recurrent
