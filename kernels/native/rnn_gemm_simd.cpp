// Products of recurrent networks: register blocks, and the use of the caches.

#include "kernels/native/rnn_gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/rnn_gemm_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = HWY_CAPPED(float, 16);
using V = hn::Vec<D>;

constexpr std::ptrdiff_t line = 16;  ///< floats of a cache line
/// Number of products of each sum between two prefetches.
constexpr std::ptrdiff_t few = 2;
constexpr std::size_t fraction = 256;
constexpr int most_rows = 14;
constexpr bool many_registers = HWY_ARCH_ARM_A64 || HWY_TARGET <= HWY_AVX3;
/// Rows of a register block with so many vectors: their sums, the vectors of b and one of a are in
/// registers.
constexpr int choose_rows(int vectors) {
  constexpr int registers = many_registers ? 32 : 16;
  return std::min(most_rows, std::max(1, (registers - 1) / vectors - 1));
}

/// The common part of all rows of a register block.
struct Part {
  const float* a;
  std::ptrdiff_t a_block;
  const float* b;
  std::ptrdiff_t blocks;
  float* const* c;
  std::ptrdiff_t row, column;  ///< the first ones of c
  bool add;
  /// The prefetches: so many parts of a line after every few products, rounded up to whole lines.
  /// Simultaneous requests would wait for each other, and delay all loads.
  const float* ahead;
  std::size_t lines;
  std::ptrdiff_t burst;
};

// Vectors of SVE have no fixed size and cannot be elements of an array, so each accumulator is a
// variable.
#define ASSAY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define ASSAY_VECTORS(X, r) X(r, 0) X(r, 1) X(r, 2) X(r, 3)
#define ASSAY_DECLARE_ONE(r, v) V c##r##_##v = hn::Zero(d);
#define ASSAY_DECLARE(r) ASSAY_VECTORS(ASSAY_DECLARE_ONE, r)
#define ASSAY_LOAD(r, v)     \
  V b##v = hn::Undefined(d); \
  if constexpr (v < kVectors) b##v = hn::LoadU(d, b + k * step + v * lanes);
#define ASSAY_MULTIPLY_ONE(r, v) \
  if constexpr (v < kVectors) c##r##_##v = hn::MulAdd(x, b##v, c##r##_##v);
#define ASSAY_MULTIPLY(r)                    \
  if constexpr (r < kRows) {                 \
    const V x = hn::Set(d, a[r * line + k]); \
    ASSAY_VECTORS(ASSAY_MULTIPLY_ONE, r)     \
  }
#define ASSAY_FETCH_SUM_ONE(r, v)                                                    \
  if constexpr (v < kVectors) {                                                      \
    const std::ptrdiff_t at = part.column + v * lanes;                               \
    __builtin_prefetch(part.c[at / line] + (part.row + r) * line + at % line, 1, 3); \
  }
#define ASSAY_FETCH_SUM(r)                \
  if constexpr (r < kRows) {              \
    ASSAY_VECTORS(ASSAY_FETCH_SUM_ONE, r) \
  }
#define ASSAY_STORE_ONE(r, v)                                                \
  if constexpr (v < kVectors) {                                              \
    const std::ptrdiff_t at = part.column + v * lanes;                       \
    float* const to = part.c[at / line] + (part.row + r) * line + at % line; \
    if (part.add) c##r##_##v = hn::Add(c##r##_##v, hn::LoadU(d, to));        \
    hn::StoreU(c##r##_##v, d, to);                                           \
  }
#define ASSAY_STORE(r)                \
  if constexpr (r < kRows) {          \
    ASSAY_VECTORS(ASSAY_STORE_ONE, r) \
  }

template <int kRows, int kVectors>
void multiply_rows(const Part& part) {
  const D d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  // All columns of a panel are in registers, unless vectors are shorter than a quarter of a line.
  const std::ptrdiff_t step = std::max(kVectors * lanes, line);
  const float* first = part.a;
  std::size_t fetched = 0;
  const float* HWY_RESTRICT b = part.b;
  ASSAY_ROWS(ASSAY_DECLARE)
  // Without this prefetch, a load of c, which often comes from memory, would delay the next
  // register block.
  ASSAY_ROWS(ASSAY_FETCH_SUM)
  for (std::ptrdiff_t block = 0; block < part.blocks; ++block, first += part.a_block)
    for (const float* a = first; a != first + line;) {
      for (std::ptrdiff_t i = 0; i < part.burst; ++i)
        __builtin_prefetch(part.ahead + (fetched / fraction + i) * line, 0, 2);
      fetched += part.lines;
#pragma GCC unroll 4
      for (std::ptrdiff_t k = 0; k < few; ++k) {
        ASSAY_VECTORS(ASSAY_LOAD, 0)
        ASSAY_ROWS(ASSAY_MULTIPLY)
      }
      a += few;
      b += few * step;
    }
  ASSAY_ROWS(ASSAY_STORE)
}

using Kernel = void (*)(const Part& part);
using Kernels = std::array<Kernel, most_rows>;  ///< by rows - 1

template <int kVectors, int... kRows>
Kernels make_kernels(std::integer_sequence<int, kRows...>) {
  return {(kRows < choose_rows(kVectors)
               ? &multiply_rows<std::min(kRows + 1, choose_rows(kVectors)), kVectors>
               : nullptr)...};
}
template <int kVectors>
Kernels make_kernels() {
  return make_kernels<kVectors>(std::make_integer_sequence<int, most_rows>());
}

std::ptrdiff_t count_lanes() { return static_cast<std::ptrdiff_t>(hn::Lanes(D())); }

/// Multiplies some blocks of the reduction, for all rows and columns; meanwhile prefetches `lines`
/// lines from `ahead` on.
void multiply_blocks(const RnnProduct& product, std::ptrdiff_t block, std::ptrdiff_t count,
                     const float* ahead, std::ptrdiff_t lines) {
  static const std::array<Kernels, most_width> all{make_kernels<1>(), make_kernels<2>(),
                                                   make_kernels<3>(), make_kernels<4>()};
  const std::ptrdiff_t step = product.width * line, columns = most_width * count_lanes();
  for (std::ptrdiff_t column = 0; column < step; column += columns) {
    const std::ptrdiff_t vectors = std::min(columns, step - column) / count_lanes(),
                         most = choose_rows(static_cast<int>(vectors)),
                         parts = (product.rows + most - 1) / most,
                         turns = parts * count * line / few,
                         each = lines * static_cast<std::ptrdiff_t>(fraction) / turns;
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const std::ptrdiff_t from = product.rows * part / parts,
                           to = product.rows * (part + 1) / parts;
      all[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(to - from - 1)](
          {product.a + block * product.a_block + from * line, product.a_block,
           product.b + block * line * step + column, count, product.c, from, column,
           product.add || block > 0, ahead + lines * part / parts * line,
           static_cast<std::size_t>(each), (lines + turns - 1) / turns});
    }
    lines = 0;
  }
}

void multiply(const RnnProduct& product) {
  const std::ptrdiff_t of_block =
      product.fetches_a ? product.rows : product.width * line;  // lines of one
  const std::ptrdiff_t parts = (product.blocks + most_blocks - 1) / most_blocks;
  const auto first = [&](std::ptrdiff_t part) { return product.blocks * part / parts; };
  for (std::ptrdiff_t part = 0; part < parts; ++part) {
    const std::ptrdiff_t after = first(part + 1);
    const bool last = part + 1 == parts;
    const float* ahead = product.next;
    if (!last)
      ahead = product.fetches_a ? product.a + after * product.a_block
                                : product.b + after * line * product.width * line;
    const std::ptrdiff_t fetched = last ? first(1) : first(part + 2) - after;
    multiply_blocks(product, first(part), after - first(part), ahead == nullptr ? product.b : ahead,
                    ahead == nullptr ? 0 : fetched * of_block);
  }
}

}  // namespace

const RnnGemm* rnn_gemm_here() {
  // Four vectors leave registers for six rows, where there are 32; else two are best.
  static const RnnGemm table{
      static_cast<int>(
          std::max((many_registers ? 4 : 2) * count_lanes() / line, std::ptrdiff_t{1})),
      &multiply};
  return &table;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(rnn_gemm_here);
const RnnGemm& rnn_gemm() { return *HWY_DYNAMIC_DISPATCH(rnn_gemm_here)(); }
}  // namespace assay::native
#endif
