// Register blocks of matrix products, and conversion between storage and fp32.

#include "kernels/native/conv_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/conv_gemm_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::Bf16;
using assay::HWY_NAMESPACE::Fp16;
using Fp32 = assay::HWY_NAMESPACE::Plain<float>;
using D = HWY_CAPPED(float, 16);
using V = hn::Vec<D>;

// Vectors of SVE have no fixed size and cannot be elements of an array, so each accumulator is a
// variable.
#define ASSAY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define ASSAY_DECLARE(r) V c##r##_0 = hn::Zero(d), c##r##_1 = hn::Zero(d);
#define ASSAY_MULTIPLY(r)                                                \
  if constexpr (r < kRows) {                                             \
    const V x = hn::Set(d, a[r * kRow]);                                 \
    c##r##_0 = hn::MulAdd(x, b0, c##r##_0);                              \
    if constexpr (kVectors == 2) c##r##_1 = hn::MulAdd(x, b1, c##r##_1); \
  }
#define ASSAY_STORE(r)                                                  \
  if constexpr (r < kRows) {                                            \
    float* const to = c + r * row;                                      \
    if (add) c##r##_0 = hn::Add(c##r##_0, hn::LoadU(d, to));            \
    hn::StoreU(c##r##_0, d, to);                                        \
    if constexpr (kVectors == 2) {                                      \
      if (add) c##r##_1 = hn::Add(c##r##_1, hn::LoadU(d, to + vector)); \
      hn::StoreU(c##r##_1, d, to + vector);                             \
    }                                                                   \
  }

std::ptrdiff_t count_lanes() { return static_cast<std::ptrdiff_t>(hn::Lanes(D())); }

template <int kRows, int kVectors, std::ptrdiff_t kRow, std::ptrdiff_t kStep>
void gemm(const float* HWY_RESTRICT at, const float* HWY_RESTRICT bt,
          const Segment* HWY_RESTRICT segments, std::ptrdiff_t count, float* HWY_RESTRICT c,
          std::ptrdiff_t row, std::ptrdiff_t vector, bool add) {
  const D d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const std::ptrdiff_t panel = std::max(2 * lanes, channel_block);
  ASSAY_ROWS(ASSAY_DECLARE)
  for (std::ptrdiff_t s = 0; s < count; ++s) {
    const float* HWY_RESTRICT a = at + segments[s].a;
    const float* HWY_RESTRICT b = bt + segments[s].b;
    const float* const end = b + segments[s].k * panel;
#pragma GCC unroll 4
    for (; b != end; b += panel, a += kStep) {
      const V b0 = hn::LoadU(d, b);
      V b1 = b0;
      if constexpr (kVectors == 2) b1 = hn::LoadU(d, b + lanes);
      (void)b1;
      ASSAY_ROWS(ASSAY_MULTIPLY)
    }
  }
  ASSAY_ROWS(ASSAY_STORE)
}

template <class Format>
HWY_INLINE void load16(const void* from, float* HWY_RESTRICT to) {
  const D d;
  const auto* const stored = static_cast<const typename Format::Stored*>(from);
  for (std::ptrdiff_t i = 0; i < channel_block; i += count_lanes())
    hn::StoreU(Format::load(d, stored + i), d, to + i);
}
HWY_INLINE void load16(DataType type, const void* from, float* HWY_RESTRICT to) {
  if (type == DataType::fp32) return load16<Fp32>(from, to);
  return type == DataType::bf16 ? load16<Bf16>(from, to) : load16<Fp16>(from, to);
}

template <class Format>
HWY_INLINE void store16(const float* HWY_RESTRICT from, void* to) {
  const D d;
  auto* const stored = static_cast<typename Format::Stored*>(to);
  for (std::ptrdiff_t i = 0; i < channel_block; i += count_lanes())
    assay::HWY_NAMESPACE::store(Format(), hn::LoadU(d, from + i), d, stored + i);
}
HWY_INLINE void store16(DataType type, const float* HWY_RESTRICT from, void* to) {
  if (type == DataType::fp32) return store16<Fp32>(from, to);
  return type == DataType::bf16 ? store16<Bf16>(from, to) : store16<Fp16>(from, to);
}

void load(DataType type, const void* from, std::ptrdiff_t from_step, std::ptrdiff_t pixels,
          std::ptrdiff_t count, float* to, std::ptrdiff_t to_step) {
  const auto size = static_cast<std::ptrdiff_t>(size_of(type));
  const char* next = static_cast<const char*>(from);
  if (type == DataType::fp32 && count <= few_channels) {
    const std::ptrdiff_t cleared = std::min(to_step, channel_block);
    for (std::ptrdiff_t p = 0; p < pixels; ++p, next += from_step * size, to += to_step) {
      const auto* const values = reinterpret_cast<const float*>(next);
      for (std::ptrdiff_t c = 0; c < few_channels; ++c) to[c] = c < count ? values[c] : 0;
      for (std::ptrdiff_t c = few_channels; c < cleared; ++c) to[c] = 0;
    }
    return;
  }
  for (std::ptrdiff_t p = 0; p < pixels; ++p, next += from_step * size, to += to_step) {
    if (count >= channel_block) {
      load16(type, next, to);
    } else {  // an incomplete block ends where another pixel's channels begin, or the tensor ends
      alignas(64) char part[channel_block * sizeof(float)] = {};
      std::copy_n(next, count * size, part);
      load16(type, part, to);
    }
  }
}

void store(DataType type, const float* from, std::ptrdiff_t from_step, std::ptrdiff_t pixels,
           std::ptrdiff_t count, void* to, std::ptrdiff_t to_step) {
  const auto size = static_cast<std::ptrdiff_t>(size_of(type));
  char* next = static_cast<char*>(to);
  for (std::ptrdiff_t p = 0; p < pixels; ++p, from += from_step, next += to_step * size) {
    if (count >= channel_block) {
      store16(type, from, next);
    } else {
      alignas(64) char part[channel_block * sizeof(float)];
      store16(type, from, part);
      std::copy_n(part, count * size, next);
    }
  }
}

template <int... kRows>
GemmTable make_table(std::integer_sequence<int, kRows...>) {
  GemmTable table{};
  table.target = hwy::TargetName(HWY_TARGET);
  table.lanes = count_lanes();
  table.panel = std::max(2 * table.lanes, channel_block);
  // Accumulators, two vectors of b and one of a use 31 of 32 registers, or 15 of 16.
  table.rows = HWY_ARCH_ARM_A64 || HWY_TARGET <= HWY_AVX3 ? most_rows : 6;
  ((table.pixels[kRows][0] = &gemm<kRows + 1, 1, channel_block, 1>,
    table.pixels[kRows][1] = &gemm<kRows + 1, 2, channel_block, 1>,
    table.few_pixels[kRows][0] = &gemm<kRows + 1, 1, few_channels, 1>,
    table.few_pixels[kRows][1] = &gemm<kRows + 1, 2, few_channels, 1>,
    table.channels[kRows][0] = &gemm<kRows + 1, 1, 1, channel_block>,
    table.channels[kRows][1] = &gemm<kRows + 1, 2, 1, channel_block>),
   ...);
  table.load = &load;
  table.store = &store;
  return table;
}

}  // namespace

const GemmTable* gemm_table_here() {
  static const GemmTable table = make_table(std::make_integer_sequence<int, most_rows>());
  return &table;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(gemm_table_here);
const GemmTable& gemm_table() { return *HWY_DYNAMIC_DISPATCH(gemm_table_here)(); }
}  // namespace assay::native
#endif
