// Products of the fp64 reference, in register blocks of 6 x 2 vectors, for the best instruction set
// of the processor, because the reference of a weight gradient takes 10^12 multiply-adds.

#include "kernels/rnn/gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn/gemm.cpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <omp.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::recurrent::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::int64_t most_lanes = 8;
using Wide = HWY_CAPPED(double, most_lanes);
using Narrow = hn::Rebind<float, Wide>;

/// A thread computes tiles of c with at most `tallest` rows and `widest` columns.
constexpr std::int64_t tallest = 256, widest = 256, narrowest = 32;
/// Terms that are added together, so that their part of b stays in the second-level cache.
constexpr std::int64_t depth = 128;
constexpr int rows_at_once = 6;
/// Padding between strips: strips that are a multiple of 4 KiB apart would compete for the same
/// lines of the first-level cache.
constexpr std::int64_t between_strips = 8;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

HWY_INLINE hn::Vec<Wide> load(const double* from) { return hn::LoadU(Wide(), from); }
HWY_INLINE hn::Vec<Wide> load(const float* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Narrow(), from));
}

std::int64_t strip_columns() { return 2 * static_cast<std::int64_t>(hn::Lanes(Wide())); }
std::int64_t strip_distance() { return depth * strip_columns() + between_strips; }

/// Widens b[k][width] to strips of two vectors, [strip][k][columns]. Rows of b are read
/// sequentially, because a step of the recurrence reads every weight for only a few FLOPs.
template <class T>
void widen(const T* b, std::int64_t ldb, std::int64_t k, std::int64_t width, double* to) {
  const Wide d;
  const std::int64_t lanes = strip_columns() / 2, strip = strip_columns();
  const std::int64_t whole = width / strip * strip;
  for (std::int64_t i = 0; i < k; ++i) {
    const T* const row = b + i * ldb;
    double* at = to + i * strip;
    for (std::int64_t j = 0; j < whole; j += strip, at += strip_distance()) {
      hn::StoreU(load(row + j), d, at);
      hn::StoreU(load(row + j + lanes), d, at + lanes);
    }
    if (whole == width) continue;
    for (std::int64_t j = 0; j < strip; ++j)
      at[j] = whole + j < width ? static_cast<double>(row[whole + j]) : 0;
  }
}

// Vectors of SVE have no fixed size and cannot be elements of an array, so each sum is a variable.
#define ASSAY_EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define ASSAY_BEGIN(r)                                                          \
  [[maybe_unused]] const double* const a##r = a + std::min(r, kRows - 1) * lda; \
  [[maybe_unused]] auto s##r##0 = hn::Zero(d), s##r##1 = hn::Zero(d);
#define ASSAY_MULTIPLY(r)                 \
  if constexpr (r < kRows) {              \
    const auto x = hn::Set(d, a##r[i]);   \
    s##r##0 = hn::MulAdd(x, b0, s##r##0); \
    s##r##1 = hn::MulAdd(x, b1, s##r##1); \
  }
#define ASSAY_ADD(r) \
  if constexpr (r < kRows) add(c + r * ldc, s##r##0, s##r##1);

/// c[kRows][width] += a[kRows][k] strip[k][columns], for the columns of a strip. Twelve sums hide
/// the latency of multiply-adds (eight do not hide five cycles), and fit into 16 registers with
/// their operands.
template <int kRows>
void block(std::int64_t width, std::int64_t k, const double* a, std::int64_t lda,
           const double* strip, double* c, std::int64_t ldc) {
  const Wide d;
  const std::int64_t columns = strip_columns(), lanes = columns / 2;
  ASSAY_EACH_ROW(ASSAY_BEGIN)
  for (std::int64_t i = 0; i < k; ++i) {
    const auto b0 = load(strip + i * columns), b1 = load(strip + i * columns + lanes);
    ASSAY_EACH_ROW(ASSAY_MULTIPLY)
  }
  const auto add = [&](double* to, hn::Vec<Wide> first, hn::Vec<Wide> second) HWY_ATTR {
    if (width == columns) {
      hn::StoreU(hn::Add(hn::LoadU(d, to), first), d, to);
      hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), second), d, to + lanes);
      return;
    }
    double sums[2 * most_lanes] = {};
    hn::StoreU(first, d, sums);
    hn::StoreU(second, d, sums + lanes);
    for (std::int64_t j = 0; j < width; ++j) to[j] += sums[j];
  };
  ASSAY_EACH_ROW(ASSAY_ADD)
}

#undef ASSAY_EACH_ROW
#undef ASSAY_BEGIN
#undef ASSAY_MULTIPLY
#undef ASSAY_ADD

using Block = void (*)(std::int64_t width, std::int64_t k, const double* a, std::int64_t lda,
                       const double* strip, double* c, std::int64_t ldc);
/// The index is rows - 1.
constexpr Block blocks[rows_at_once] = {&block<1>, &block<2>, &block<3>,
                                        &block<4>, &block<5>, &block<6>};

/// A tile of c. Each strip stays in the first-level cache while all rows of a are multiplied by it.
/// The blocks of rows have equal sizes, so that none has unused rows.
template <class T>
void tile(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
          const T* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
  alignas(64) static thread_local double strips[(depth + between_strips) * widest];
  const std::int64_t columns = strip_columns(), count = quotient_up(m, rows_at_once);
  for (std::int64_t r = 0; r < m && !add; ++r) std::fill_n(c + r * ldc, n, 0.0);
  for (std::int64_t from = 0; from < k; from += depth) {
    const std::int64_t part = std::min(depth, k - from);
    widen(b + from * ldb, ldb, part, n, strips);
    for (std::int64_t j = 0; j < n; j += columns)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t r = m * i / count, rows = m * (i + 1) / count - r;
        blocks[rows - 1](std::min(columns, n - j), part, a + r * lda + from, lda,
                         strips + j / columns * strip_distance(), c + r * ldc + j, ldc);
      }
  }
}

/// Columns of a result that stay in the first-level cache while all rows of b are read, and the
/// smallest number of columns for a thread.
constexpr std::int64_t narrow_columns = 512, fewest_columns = 64;

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

/// For one or two rows: each row of b is read once and sequentially.
template <int kRows, class T>
void multiply_few_rows(std::int64_t width, std::int64_t k, const double* a, std::int64_t lda,
                       const T* b, std::int64_t ldb, double* c, std::int64_t ldc, bool add) {
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
  // Less work takes less than about 0.1 ms: waking threads takes longer on a busy machine.
  const bool worthwhile =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > 1e6;
  const std::int64_t threads = omp_get_max_threads();
  if (m <= 2) {
    const std::int64_t columns = std::min(
        quotient_up(quotient_up(n, threads), fewest_columns) * fewest_columns, narrow_columns);
#pragma omp parallel for schedule(static) if (worthwhile)
    for (std::int64_t first = 0; first < n; first += columns)
      (m == 1 ? multiply_few_rows<1, T> : multiply_few_rows<2, T>)(std::min(columns, n - first), k,
                                                                   a, lda, b + first, ldb,
                                                                   c + first, ldc, add);
    return;
  }
  // All threads have the same number of tiles.
  const std::int64_t down = quotient_up(m, tallest), each = quotient_up(n * down, threads * widest),
                     share = quotient_up(n * down, threads * each),
                     columns = std::min(quotient_up(share, narrowest) * narrowest, widest),
                     across = quotient_up(n, columns);
#pragma omp parallel for schedule(static) if (worthwhile)
  for (std::int64_t i = 0; i < down * across; ++i) {
    const std::int64_t row = i / across * tallest, column = i % across * columns;
    tile(std::min(tallest, m - row), std::min(columns, n - column), k, a + row * lda, lda,
         b + column, ldb, c + row * ldc + column, ldc, add);
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
