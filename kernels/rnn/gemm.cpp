// Products of the fp64 reference, in register blocks of 4 x 2 vectors, for the best instruction set
// of the processor: the reference of a weight gradient makes 10^12 multiply-adds.

#include "kernels/rnn/gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn/gemm.cpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::recurrent::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = HWY_CAPPED(double, 8);
using Narrow = hn::Rebind<float, Wide>;

constexpr std::int64_t columns = 32, rows_at_once = 4;
/// Part of the reduction whose columns of b stay in the second-level cache.
constexpr std::int64_t depth = 1024;

HWY_INLINE hn::Vec<Wide> load(const double* from) { return hn::LoadU(Wide(), from); }
HWY_INLINE hn::Vec<Wide> load(const float* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Narrow(), from));
}

/// A block of b, widened: [k][columns].
template <class T>
void widen(const T* b, std::int64_t ldb, std::int64_t k, std::int64_t width, double* to) {
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < width; ++j)
      to[i * columns + j] = static_cast<double>(b[i * ldb + j]);
    for (std::int64_t j = width; j < columns; ++j) to[i * columns + j] = 0;
  }
}

/// sums[4][columns] = a[4 x k] panel[k x columns]; rows of `a` may be the same one. Eight sums hide
/// the latency of multiply-adds, and fit with their operands into 16 registers.
void block(const double* const (&a)[rows_at_once], const double* panel, std::int64_t k,
           double* sums) {
  const Wide d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t from = 0; from < columns; from += 2 * lanes) {
    auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00,
         s31 = s00;
    for (std::int64_t i = 0; i < k; ++i) {
      const auto b0 = load(panel + i * columns + from),
                 b1 = load(panel + i * columns + from + lanes);
      auto x = hn::Set(d, a[0][i]);
      s00 = hn::MulAdd(x, b0, s00);
      s01 = hn::MulAdd(x, b1, s01);
      x = hn::Set(d, a[1][i]);
      s10 = hn::MulAdd(x, b0, s10);
      s11 = hn::MulAdd(x, b1, s11);
      x = hn::Set(d, a[2][i]);
      s20 = hn::MulAdd(x, b0, s20);
      s21 = hn::MulAdd(x, b1, s21);
      x = hn::Set(d, a[3][i]);
      s30 = hn::MulAdd(x, b0, s30);
      s31 = hn::MulAdd(x, b1, s31);
    }
    const auto put = [&](std::int64_t row, hn::Vec<Wide> first, hn::Vec<Wide> second) HWY_ATTR {
      hn::StoreU(first, d, sums + row * columns + from);
      hn::StoreU(second, d, sums + row * columns + from + lanes);
    };
    put(0, s00, s01);
    put(1, s10, s11);
    put(2, s20, s21);
    put(3, s30, s31);
  }
}

void put(const double* sums, std::int64_t width, double* c, bool add) {
  for (std::int64_t j = 0; j < width; ++j) c[j] = add ? c[j] + sums[j] : sums[j];
}

/// Columns of a result that stay in the first cache while all rows of b are read.
constexpr std::int64_t narrow_columns = 512;

/// c[rows][width] += a[rows][4] b[4][width]. `kRows`: 1 or 2.
template <int kRows, class T>
void add_four(const double* a, std::int64_t lda, const T* b, std::int64_t ldb, std::int64_t width,
              double* c, std::int64_t ldc) {
  const Wide d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const double* const below = a + (kRows - 1) * lda;
  double* const c_below = c + (kRows - 1) * ldc;
  const auto x0 = hn::Set(d, a[0]), x1 = hn::Set(d, a[1]), x2 = hn::Set(d, a[2]),
             x3 = hn::Set(d, a[3]), y0 = hn::Set(d, below[0]), y1 = hn::Set(d, below[1]),
             y2 = hn::Set(d, below[2]), y3 = hn::Set(d, below[3]);
  std::int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    const T* const at = b + j;
    const auto b0 = load(at), b1 = load(at + ldb), b2 = load(at + 2 * ldb), b3 = load(at + 3 * ldb);
    const auto sum = hn::MulAdd(x3, b3, hn::MulAdd(x2, b2, hn::MulAdd(x1, b1, hn::Mul(x0, b0))));
    hn::StoreU(hn::Add(hn::LoadU(d, c + j), sum), d, c + j);
    if constexpr (kRows == 2) {
      const auto other =
          hn::MulAdd(y3, b3, hn::MulAdd(y2, b2, hn::MulAdd(y1, b1, hn::Mul(y0, b0))));
      hn::StoreU(hn::Add(hn::LoadU(d, c_below + j), other), d, c_below + j);
    }
  }
  for (; j < width; ++j)
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t i = 0; i < 4; ++i)
        c[r * ldc + j] += a[r * lda + i] * static_cast<double>(b[i * ldb + j]);
}

/// One or two rows: each row of b is read once from one end to the other, as memory likes it.
template <int kRows, class T>
void few_rows(std::int64_t width, std::int64_t k, const double* a, std::int64_t lda, const T* b,
              std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  for (std::int64_t r = 0; r < kRows && !add; ++r) std::fill_n(c + r * ldc, width, 0.0);
  std::int64_t i = 0;
  for (; i + 4 <= k; i += 4) add_four<kRows>(a + i, lda, b + i * ldb, ldb, width, c, ldc);
  for (; i < k; ++i)
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t j = 0; j < width; ++j)
        c[r * ldc + j] += a[r * lda + i] * static_cast<double>(b[i * ldb + j]);
}

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
             const T* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  const bool worthwhile =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > 1e5;
  if (m <= 2) {
#pragma omp parallel for schedule(static) if (worthwhile)
    for (std::int64_t first = 0; first < n; first += narrow_columns)
      (m == 1 ? few_rows<1, T> : few_rows<2, T>)(std::min(narrow_columns, n - first), k, a, lda,
                                                 b + first, ldb, c + first, ldc, add);
    return;
  }
  const std::int64_t panels = (n + columns - 1) / columns;
#pragma omp parallel if (worthwhile)
  {
    alignas(64) static thread_local double panel[depth * columns];
    alignas(64) double sums[rows_at_once * columns];
#pragma omp for schedule(static)
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t first = p * columns, width = std::min(columns, n - first);
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

void of_floats(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
               const float* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  product(m, n, k, a, lda, b, ldb, c, ldc, add);
}
void of_doubles(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                const double* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  product(m, n, k, a, lda, b, ldb, c, ldc, add);
}

}  // namespace
}  // namespace assay::recurrent::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::recurrent {
namespace {
HWY_EXPORT(of_floats);
HWY_EXPORT(of_doubles);
}  // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const float* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  HWY_DYNAMIC_DISPATCH(of_floats)(m, n, k, a, lda, b, ldb, c, ldc, add);
}
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
              const double* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  HWY_DYNAMIC_DISPATCH(of_doubles)(m, n, k, a, lda, b, ldb, c, ldc, add);
}

}  // namespace assay::recurrent
#endif
