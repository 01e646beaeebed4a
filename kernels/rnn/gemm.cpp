// Register blocks of 4 x 32 fp64 sums. The reference of a weight gradient makes 10^12 products: one
// source is compiled for several instruction sets, and the best is chosen when the program starts.

#include "kernels/rnn/gemm.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && defined(__GNUC__) && \
    !defined(__clang__)
#define ASSAY_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define ASSAY_CLONES
#endif

namespace assay::recurrent {
namespace {

constexpr std::int64_t lanes = 8, vectors = 4, columns = lanes * vectors, rows_at_once = 4;
/// Part of the reduction whose columns of b stay in the second-level cache.
constexpr std::int64_t depth = 1024;

typedef double Wide __attribute__((vector_size(64)));
typedef float Narrow __attribute__((vector_size(32)));

/// A block of b, widened: [k][columns].
template <class T>
inline void widen(const T* b, std::int64_t ldb, std::int64_t k, std::int64_t width, double* to) {
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < width; ++j)
      to[i * columns + j] = static_cast<double>(b[i * ldb + j]);
    for (std::int64_t j = width; j < columns; ++j) to[i * columns + j] = 0;
  }
}

/// sums[4][columns] = a[4 x k] panel[k x columns]; rows of `a` may be the same one.
ASSAY_CLONES void block(const double* const (&a)[rows_at_once], const double* panel, std::int64_t k,
                        double* sums) {
  Wide sum[rows_at_once][vectors] = {};
  for (std::int64_t i = 0; i < k; ++i) {
    for (int v = 0; v < vectors; ++v) {
      Wide b;
      std::memcpy(&b, panel + i * columns + v * lanes, sizeof b);
      for (int r = 0; r < rows_at_once; ++r) sum[r][v] += a[r][i] * b;
    }
  }
  std::memcpy(sums, sum, sizeof sum);
}

/// Two rows: what a forward pass of two batch rows needs at each step.
ASSAY_CLONES void narrow_block(const double* a0, const double* a1, const float* b, std::int64_t ldb,
                               std::int64_t k, double* sums) {
  Wide sum[2][vectors] = {};
  for (std::int64_t i = 0; i < k; ++i)
    for (int v = 0; v < vectors; ++v) {
      Narrow stored;
      std::memcpy(&stored, b + i * ldb + v * lanes, sizeof stored);
      const Wide wide = __builtin_convertvector(stored, Wide);
      sum[0][v] += a0[i] * wide;
      sum[1][v] += a1[i] * wide;
    }
  std::memcpy(sums, sum, sizeof sum);
}

void put(const double* sums, std::int64_t width, double* c, bool add) {
  for (std::int64_t j = 0; j < width; ++j) c[j] = add ? c[j] + sums[j] : sums[j];
}

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
             const T* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  const std::int64_t panels = (n + columns - 1) / columns;
  const bool worthwhile =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > 1e5;
#pragma omp parallel if (worthwhile)
  {
    alignas(64) static thread_local double panel[depth * columns];
    alignas(64) double sums[rows_at_once * columns];
#pragma omp for schedule(static)
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t first = p * columns, width = std::min(columns, n - first);
      if constexpr (sizeof(T) == sizeof(float))
        if (m <= 2 && width == columns) {
          narrow_block(a, a + (m - 1) * lda, b + first, ldb, k, sums);
          for (std::int64_t r = 0; r < m; ++r)
            put(sums + r * columns, width, c + r * ldc + first, add);
          continue;
        }
      for (std::int64_t from = 0; from < k || from == 0; from += depth) {
        const std::int64_t part = std::min(depth, k - from);
        widen(b + from * ldb + first, ldb, part, width, panel);
        for (std::int64_t r = 0; r < m; r += rows_at_once) {
          const double* at[rows_at_once];
          for (std::int64_t i = 0; i < rows_at_once; ++i)
            at[i] = a + std::min(r + i, m - 1) * lda + from;
          block(at, panel, part, sums);
          for (std::int64_t i = 0; i < std::min(rows_at_once, m - r); ++i)
            put(sums + i * columns, width, c + (r + i) * ldc + first, add || from > 0);
        }
      }
    }
  }
}

}  // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const float* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  product(m, n, k, a, lda, b, ldb, c, ldc, add);
}
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const double* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  product(m, n, k, a, lda, b, ldb, c, ldc, add);
}

}  // namespace assay::recurrent
