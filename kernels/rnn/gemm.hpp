#pragma once
// Matrix products in fp64 for the reference of recurrent networks.

#include <cstdint>

namespace assay::recurrent {

/// Values from which on it pays to wake threads.
constexpr std::int64_t worth_threads = 20000;

/// c[m x n] = a[m x k] b[k x n] (`add`: added to c), all row-major with rows lda, ldb, ldc elements
/// apart, by the threads of OpenMP. b may be fp32: tensors of fp32, bf16 and fp16 lose nothing.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const float* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add);
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const double* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add);

}  // namespace assay::recurrent
