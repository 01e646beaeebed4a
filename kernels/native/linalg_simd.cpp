// Register blocks of products, and sums over rows, of the kernels of data analysis.

#include "kernels/native/linalg_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/linalg_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
using Wide = Tag<double>;

constexpr bool many_registers = HWY_ARCH_ARM_A64 || HWY_TARGET <= HWY_AVX3;
constexpr int most_vectors = 3;
constexpr std::ptrdiff_t most_lanes = 64;  ///< bytes of a vector at most, and so floats

template <class D>
std::ptrdiff_t count_lanes(D d) {
  return static_cast<std::ptrdiff_t>(hn::Lanes(d));
}

/// The first `count` elements, fewer than a vector, followed by zeros.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, std::ptrdiff_t count) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
#else  // elsewhere a masked load may read the whole vector
  HWY_ALIGN T part[most_lanes] = {};
  std::copy_n(from, count, part);
  return hn::Load(d, part);
#endif
}

/// Elements of T as fp64.
HWY_INLINE hn::Vec<Wide> wide(Wide d, const double* from) { return hn::LoadU(d, from); }
HWY_INLINE hn::Vec<Wide> wide(Wide d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Wide>(), from));
}
HWY_INLINE hn::Vec<Wide> wide_part(Wide d, const double* from, std::ptrdiff_t count) {
  return load_part(d, from, count);
}
HWY_INLINE hn::Vec<Wide> wide_part(Wide d, const float* from, std::ptrdiff_t count) {
  return hn::PromoteTo(d, load_part(hn::Rebind<float, Wide>(), from, count));
}

template <class T>
void copy_row(const T* x, const T* shift, std::ptrdiff_t d, T* to) {
  const Tag<T> tag;
  const std::ptrdiff_t lanes = count_lanes(tag);
  std::ptrdiff_t j = 0;
  for (; j + lanes <= d; j += lanes) {
    const auto v = hn::LoadU(tag, x + j);
    hn::StoreU(shift == nullptr ? v : hn::Sub(v, hn::LoadU(tag, shift + j)), tag, to + j);
  }
  for (; j < d; ++j) to[j] = shift == nullptr ? x[j] : x[j] - shift[j];
}

// Vectors of SVE have no size and cannot be elements of an array: each accumulator is a variable.
#define ASSAY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define ASSAY_VECTORS(X, r) X(r, 0) X(r, 1) X(r, 2)
#define ASSAY_DECLARE_ONE(r, v) auto c##r##_##v = hn::Zero(d);
#define ASSAY_DECLARE(r) ASSAY_VECTORS(ASSAY_DECLARE_ONE, r)
#define ASSAY_LOAD(r, v)        \
  auto b##v = hn::Undefined(d); \
  if constexpr (v < kVectors) b##v = hn::LoadU(d, b + v * lanes);
#define ASSAY_MULTIPLY_ONE(r, v) \
  if constexpr (v < kVectors) c##r##_##v = hn::MulAdd(x, b##v, c##r##_##v);
#define ASSAY_MULTIPLY(r)                                     \
  if constexpr (r < kRows) {                                  \
    const auto x = hn::Set(d, a[kAcross ? r : r * a_stride]); \
    ASSAY_VECTORS(ASSAY_MULTIPLY_ONE, r)                      \
  }
#define ASSAY_STORE_ONE(r, v) \
  if constexpr (v < kVectors) hn::StoreU(c##r##_##v, d, to + r * to_stride + v * lanes);
#define ASSAY_STORE(r)                \
  if constexpr (r < kRows) {          \
    ASSAY_VECTORS(ASSAY_STORE_ONE, r) \
  }

/// Prefetches the line `elements` after `from` into the second-level cache. Rows that are read once
/// arrive earlier than with the processor's own prefetching.
template <class T>
HWY_INLINE void fetch(const T* from, std::ptrdiff_t elements) {
  __builtin_prefetch(reinterpret_cast<const char*>(from) + elements * std::ptrdiff_t{sizeof(T)}, 0,
                     2);
}

/// to[r, 0 … kVectors) = the sum over k < count of a(r, k) b[k, 0 … kVectors). Rows of b are
/// b_stride apart, and a(r, k) is a[k, r] if kAcross, else a[r, k]. Meanwhile prefetches from
/// `next` on: fetched_by elements for each product.
template <class T, int kRows, bool kAcross>
constexpr std::ptrdiff_t fetched_by = kAcross ? 16 / sizeof(T) : kRows;
template <class T, int kRows, int kVectors, bool kAcross>
void multiply(const T* HWY_RESTRICT a, std::ptrdiff_t a_stride, const T* HWY_RESTRICT b,
              std::ptrdiff_t b_stride, std::ptrdiff_t count, T* HWY_RESTRICT to,
              std::ptrdiff_t to_stride, const T* next) {
  const Tag<T> d;
  const std::ptrdiff_t lanes = count_lanes(d);
  constexpr std::ptrdiff_t line = 64 / sizeof(T), step = fetched_by<T, kRows, kAcross>;
  ASSAY_ROWS(ASSAY_DECLARE)
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    for (std::ptrdiff_t at = 0; at < step; at += line) fetch(next, k * step + at);
    ASSAY_VECTORS(ASSAY_LOAD, 0)
    ASSAY_ROWS(ASSAY_MULTIPLY)
    a += kAcross ? a_stride : 1;
    b += b_stride;
  }
  ASSAY_ROWS(ASSAY_STORE)
}

template <class T>
using Multiply = void (*)(const T*, std::ptrdiff_t, const T*, std::ptrdiff_t, std::ptrdiff_t, T*,
                          std::ptrdiff_t, const T*);

/// The product for all `rows` rows, but at most kRows.
template <class T, int kVectors, bool kAcross, int kRows>
Multiply<T> choose_block(std::ptrdiff_t& rows) {
  if constexpr (kRows > 1)
    if (rows < kRows) return choose_block<T, kVectors, kAcross, kRows - 1>(rows);
  rows = kRows;
  return &multiply<T, kRows, kVectors, kAcross>;
}

/// Rows of a block: their sums, the vectors of b and one of a are in registers.
constexpr int gram_rows = many_registers ? 8 : 4;
constexpr int dots_rows(int vectors) {
  return vectors == 3 ? gram_rows : many_registers || vectors == 1 ? 12 : 6;
}

template <class T>
Multiply<T> gram_block(std::ptrdiff_t& rows, std::ptrdiff_t vectors) {
  if (vectors == 3) return choose_block<T, 3, true, gram_rows>(rows);
  return vectors == 2 ? choose_block<T, 2, true, gram_rows>(rows)
                      : choose_block<T, 1, true, gram_rows>(rows);
}

HWY_INLINE void add_row(const double* from, std::ptrdiff_t count, double* c) {
  const Wide d;
  for (std::ptrdiff_t j = 0; j < count; j += count_lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, c + j), hn::Load(d, from + j)), d, c + j);
}
HWY_INLINE void add_row(const float* from, std::ptrdiff_t count, double* c) {
  const Wide d;
  for (std::ptrdiff_t j = 0; j < count; j += count_lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, c + j), wide(d, from + j)), d, c + j);
}

template <class T>
void add_gram(const T* a, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t columns,
              double* c, std::ptrdiff_t c_stride, const T* next, std::ptrdiff_t ahead) {
  const std::ptrdiff_t lanes = count_lanes(Tag<T>()), panel = most_vectors * lanes;
  HWY_ALIGN T sums[std::size_t{gram_rows} * most_vectors * most_lanes / sizeof(T)];
  const T* const end = next + ahead;
  // The vectors of b stay in the first-level cache for all rows of the triangle below them.
  for (std::ptrdiff_t j = 0; j < columns; j += panel)
    for (std::ptrdiff_t i = j / gram_rows * gram_rows; i < columns;) {
      std::ptrdiff_t part = std::min<std::ptrdiff_t>(gram_rows, columns - i);
      const std::ptrdiff_t needed = std::min(i + gram_rows, columns) - j,
                           vectors =
                               std::min<std::ptrdiff_t>(most_vectors, (needed + lanes - 1) / lanes);
      gram_block<T>(part, vectors)(a + i, stride, a + j, stride, rows, sums, panel,
                                   next < end ? next : a);
      next += rows * fetched_by<T, gram_rows, true>;
      for (std::ptrdiff_t r = 0; r < part; ++r)
        add_row(sums + r * panel, vectors * lanes, c + (i + r) * c_stride + j);
      i += part;
    }
}

template <class T>
void compute_many_dots(const T* x, std::ptrdiff_t d, std::ptrdiff_t rows, const T* w,
                       std::ptrdiff_t stride, T* out, std::ptrdiff_t ahead) {
  const std::ptrdiff_t lanes = count_lanes(Tag<T>());
  for (std::ptrdiff_t j = 0; j < stride; j += most_vectors * lanes) {
    const std::ptrdiff_t vectors = std::min<std::ptrdiff_t>(most_vectors, (stride - j) / lanes);
    for (std::ptrdiff_t i = 0; i < rows;) {
      std::ptrdiff_t part = rows - i;
      const Multiply<T> block = vectors == 3   ? choose_block<T, 3, false, dots_rows(3)>(part)
                                : vectors == 2 ? choose_block<T, 2, false, dots_rows(2)>(part)
                                               : choose_block<T, 1, false, dots_rows(1)>(part);
      block(x + i * d, d, w + j, stride, d, out + i * stride + j, stride,
            x + i * d + (j == 0 ? ahead : 0));
      i += part;
    }
  }
}

#define ASSAY_DOTS(X) X(0) X(1) X(2) X(3)
#define ASSAY_DOT_ZERO(i) auto s##i = hn::Zero(tag);
#define ASSAY_DOT(i) \
  if constexpr (i < kCount) s##i = hn::MulAdd(v, hn::LoadU(tag, w + i * stride + j), s##i);
#define ASSAY_DOT_STORE(i) \
  if constexpr (i < kCount) out[slots[i]] = hn::GetLane(hn::SumOfLanes(tag, s##i));

/// Reads one row after the other, in the order of memory: several rows at once are several streams,
/// which the processor prefetches later.
template <class T, int kCount>
void dots_of_rows(const T* HWY_RESTRICT x, std::ptrdiff_t d, std::ptrdiff_t rows,
                  const T* HWY_RESTRICT w, std::ptrdiff_t stride, const int* slots,
                  T* HWY_RESTRICT out, std::ptrdiff_t ahead) {
  const Tag<T> tag;
  const std::ptrdiff_t lanes = count_lanes(tag);
  for (const T* const end = x + rows * d; x != end; x += d, out += most_dots) {
    ASSAY_DOTS(ASSAY_DOT_ZERO)
    std::ptrdiff_t j = 0;
    for (; j + lanes <= d; j += lanes) {
      const auto v = hn::LoadU(tag, x + j);
      fetch(x + j, ahead);
      ASSAY_DOTS(ASSAY_DOT)
    }
    if (j < d) {
      const auto v = load_part(tag, x + j, d - j);
      ASSAY_DOTS(ASSAY_DOT)
    }
    ASSAY_DOTS(ASSAY_DOT_STORE)
  }
}

template <class T>
void compute_few_dots(const T* x, std::ptrdiff_t d, std::ptrdiff_t rows, const T* w,
                      std::ptrdiff_t stride, int count, const int* slots, T* out,
                      std::ptrdiff_t ahead) {
  if (count == 1) return dots_of_rows<T, 1>(x, d, rows, w, stride, slots, out, ahead);
  if (count == 2) return dots_of_rows<T, 2>(x, d, rows, w, stride, slots, out, ahead);
  if (count == 3) return dots_of_rows<T, 3>(x, d, rows, w, stride, slots, out, ahead);
  dots_of_rows<T, 4>(x, d, rows, w, stride, slots, out, ahead);
}

template <class T>
std::int32_t least(const T* start, const T* dots, std::ptrdiff_t count) {
  const Tag<T> d;
  const std::ptrdiff_t lanes = count_lanes(d);
  auto low = hn::Sub(hn::LoadU(d, start), hn::LoadU(d, dots));
  for (std::ptrdiff_t i = lanes; i < count; i += lanes)
    low = hn::Min(low, hn::Sub(hn::LoadU(d, start + i), hn::LoadU(d, dots + i)));
  low = hn::MinOfLanes(d, low);
  for (std::ptrdiff_t i = 0; i < count; i += lanes) {
    const auto score = hn::Sub(hn::LoadU(d, start + i), hn::LoadU(d, dots + i));
    const auto index = hn::FindFirstTrue(d, hn::Eq(score, low));
    if (index >= 0) return static_cast<std::int32_t>(i + index);
  }
  return 0;  // a score is NaN
}

// Products of few rows at once.
#define ASSAY_FEW_ROWS(X) X(0) X(1) X(2) X(3)
#define ASSAY_MEMBER_ZERO(r) auto e##r = hn::Zero(tag);
#define ASSAY_MEMBER_AT(r, load)         \
  if constexpr (r < kRows) {             \
    const auto v = load;                 \
    const auto off = hn::Sub(v, center); \
    e##r = hn::MulAdd(off, off, e##r);   \
    sum = hn::Add(sum, v);               \
  }
#define ASSAY_MEMBER(r) ASSAY_MEMBER_AT(r, wide(tag, x[r] + j))
#define ASSAY_MEMBER_PART(r) ASSAY_MEMBER_AT(r, wide_part(tag, x[r] + j, d - j))

template <class T, int kRows>
double members(const T* const* x, std::ptrdiff_t d, const T* centroid, double* sums) {
  const Wide tag;
  const std::ptrdiff_t lanes = count_lanes(tag);
  ASSAY_FEW_ROWS(ASSAY_MEMBER_ZERO)
  std::ptrdiff_t j = 0;
  for (; j + lanes <= d; j += lanes) {
    const auto center = wide(tag, centroid + j);
    auto sum = hn::LoadU(tag, sums + j);
    ASSAY_FEW_ROWS(ASSAY_MEMBER)
    hn::StoreU(sum, tag, sums + j);
  }
  if (j < d) {
    const auto center = wide_part(tag, centroid + j, d - j);
    auto sum = hn::LoadU(tag, sums + j);
    ASSAY_FEW_ROWS(ASSAY_MEMBER_PART)
    hn::StoreU(sum, tag, sums + j);
  }
  return hn::GetLane(hn::SumOfLanes(tag, hn::Add(hn::Add(e0, e1), hn::Add(e2, e3))));
}

template <class T>
double add_members(const T* const* x, int rows, std::ptrdiff_t d, const T* centroid, double* sums) {
  if (rows == 4) return members<T, 4>(x, d, centroid, sums);
  if (rows == 3) return members<T, 3>(x, d, centroid, sums);
  if (rows == 2) return members<T, 2>(x, d, centroid, sums);
  return members<T, 1>(x, d, centroid, sums);
}

#define ASSAY_FACTOR(r) const auto f##r = hn::Set(tag, factors[std::min(r, kRows - 1)]);
#define ASSAY_WEIGHTED(r) \
  if constexpr (r < kRows) sum = hn::MulAdd(f##r, wide(tag, x[r] + j), sum);
#define ASSAY_WEIGHTED_PART(r) \
  if constexpr (r < kRows) sum = hn::MulAdd(f##r, wide_part(tag, x[r] + j, d - j), sum);

template <class T, int kRows>
void sum_weighted(const T* const* x, const double* factors, std::ptrdiff_t d, double* sums) {
  const Wide tag;
  const std::ptrdiff_t lanes = count_lanes(tag);
  ASSAY_FEW_ROWS(ASSAY_FACTOR)
  std::ptrdiff_t j = 0;
  for (; j + lanes <= d; j += lanes) {
    auto sum = hn::LoadU(tag, sums + j);
    ASSAY_FEW_ROWS(ASSAY_WEIGHTED)
    hn::StoreU(sum, tag, sums + j);
  }
  if (j < d) {
    auto sum = hn::LoadU(tag, sums + j);
    ASSAY_FEW_ROWS(ASSAY_WEIGHTED_PART)
    hn::StoreU(sum, tag, sums + j);
  }
}

template <class T>
void add_weighted(const T* const* x, const double* factors, int rows, std::ptrdiff_t d,
                  double* sums) {
  if (rows == 4) return sum_weighted<T, 4>(x, factors, d, sums);
  if (rows == 3) return sum_weighted<T, 3>(x, factors, d, sums);
  if (rows == 2) return sum_weighted<T, 2>(x, factors, d, sums);
  sum_weighted<T, 1>(x, factors, d, sums);
}

template <class T>
const LinalgSimd<T>* table() {
  static const LinalgSimd<T> all{hwy::TargetName(HWY_TARGET),
                                 count_lanes(Tag<T>()),
                                 &copy_row<T>,
                                 &add_gram<T>,
                                 &compute_few_dots<T>,
                                 &compute_many_dots<T>,
                                 &least<T>,
                                 &add_members<T>,
                                 &add_weighted<T>};
  return &all;
}

}  // namespace

const LinalgSimd<float>* linalg_fp32() { return table<float>(); }
const LinalgSimd<double>* linalg_fp64() { return table<double>(); }

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(linalg_fp32);
HWY_EXPORT(linalg_fp64);
template <>
const LinalgSimd<float>& linalg_simd<float>() {
  return *HWY_DYNAMIC_DISPATCH(linalg_fp32)();
}
template <>
const LinalgSimd<double>& linalg_simd<double>() {
  return *HWY_DYNAMIC_DISPATCH(linalg_fp64)();
}
}  // namespace assay::native
#endif
