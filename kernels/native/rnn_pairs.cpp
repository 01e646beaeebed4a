// Products of bf16 numbers with sums in fp32, by x86's tiles (AMX) or dot products (AVX512-BF16),
// which Highway 1.0 does not have.

#include "kernels/native/rnn_gemm.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/native/conv_parts.hpp"
#include "kernels/native/conv_simd.hpp"

namespace assay::native {

#if defined(__x86_64__) && defined(__linux__)
namespace {

constexpr std::ptrdiff_t line = 16;       // in units of 4 bytes: pairs of bf16, or a sum
constexpr std::ptrdiff_t tile_rows = 16;  // of a tile, whose rows are lines

/// Prefetches the operand that is not in the caches: some lines with each block.
struct Ahead {
  const float* at;
  std::ptrdiff_t each;
  Ahead(const RnnProduct& product, std::ptrdiff_t turns) : at(product.next), each(0) {
    const std::ptrdiff_t lines =
        product.blocks * (product.fetches_a ? product.rows : product.width * line);
    if (at != nullptr) each = (lines + turns - 1) / turns;
  }
  void fetch() {
    for (std::ptrdiff_t i = 0; i < each; ++i, at += line) __builtin_prefetch(at, 0, 2);
  }
};

/// Tiles 0 to 3 are sums, 4 and 5 parts of a, 6 and 7 parts of b. `rows`: rows of the sums and of
/// a.
struct alignas(64) Configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_of_row[16] = {};
  std::uint8_t row_counts[16] = {};
  explicit Configuration(std::ptrdiff_t rows) {
    std::fill_n(bytes_of_row, 8, line * sizeof(float));
    std::fill_n(row_counts, 6, rows);
    std::fill_n(row_counts + 6, 2, tile_rows);
  }
};

}  // namespace

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")
namespace {

/// kRows x kColumns tiles of sums, from row `row` and block of columns `column` on.
template <int kRows, int kColumns>
void multiply_tiles(const RnnProduct& product, std::ptrdiff_t row, int column, Ahead& ahead) {
  constexpr int bytes = line * sizeof(float);
  float* const c0 = product.c[column] + row * line;
  float* const c1 = kColumns == 2 ? product.c[column + 1] + row * line : nullptr;
  constexpr std::ptrdiff_t below = tile_rows * line;
  if (product.add) {
    _tile_loadd(0, c0, bytes);
    if constexpr (kColumns == 2) _tile_loadd(1, c1, bytes);
    if constexpr (kRows == 2) _tile_loadd(2, c0 + below, bytes);
    if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, c1 + below, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const float *a = product.a + row * line, *b = product.b + column * line;
  const std::ptrdiff_t step = product.width * line;
  for (std::ptrdiff_t block = 0; block < product.blocks; ++block) {
    _tile_loadd(4, a, bytes);
    _tile_loadd(6, b, step * sizeof(float));
    if constexpr (kRows == 2) _tile_loadd(5, a + below, bytes);
    if constexpr (kColumns == 2) _tile_loadd(7, b + line, step * sizeof(float));
    ahead.fetch();
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumns == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRows == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kRows == 2 && kColumns == 2) _tile_dpbf16ps(3, 5, 7);
    a += product.a_block;
    b += tile_rows * step;
  }
  _tile_stored(0, c0, bytes);
  if constexpr (kColumns == 2) _tile_stored(1, c1, bytes);
  if constexpr (kRows == 2) _tile_stored(2, c0 + below, bytes);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, c1 + below, bytes);
}

template <int kRows>
void multiply_tile_rows(const RnnProduct& product, std::ptrdiff_t row, Ahead& ahead) {
  int column = 0;
  for (; column + 2 <= product.width; column += 2)
    multiply_tiles<kRows, 2>(product, row, column, ahead);
  if (column < product.width) multiply_tiles<kRows, 1>(product, row, column, ahead);
}

void multiply_by_tiles(const RnnProduct& product) {
  const std::ptrdiff_t whole = product.rows / tile_rows, rest = product.rows % tile_rows;
  Ahead ahead(product,
              (whole / 2 + whole % 2 + (rest > 0)) * ((product.width + 1) / 2) * product.blocks);
  std::ptrdiff_t tile = 0;
  if (whole > 0) {
    static const Configuration all(tile_rows);
    _tile_loadconfig(&all);
    for (; tile + 2 <= whole; tile += 2) multiply_tile_rows<2>(product, tile * tile_rows, ahead);
    if (tile < whole) multiply_tile_rows<1>(product, tile * tile_rows, ahead);
  }
  if (rest > 0) {
    const Configuration some(rest);
    _tile_loadconfig(&some);
    multiply_tile_rows<1>(product, whole * tile_rows, ahead);
  }
  _tile_release();
}

/// Rows of a register block with so many vectors: their sums, a row of b and one pair of a are in
/// registers. A loaded pair is used several times, since loads are no faster than products.
constexpr int registers = 32;
constexpr int choose_rows(int vectors) {
  return std::min(most_rows, (registers - 1) / vectors - 1);
}

/// Blocks [block, block + count) of the reduction, and kRows rows of all columns.
template <int kRows, int kVectors>
void multiply_dots(const RnnProduct& product, std::ptrdiff_t row, std::ptrdiff_t block,
                   std::ptrdiff_t count, Ahead& ahead) {
  __m512 sums[kRows][kVectors];
  const bool add = product.add || block > 0;
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = _mm512_setzero_ps();
      __builtin_prefetch(product.c[v] + (row + r) * line, 1, 3);
    }
  const float *a = product.a + block * product.a_block + row * line,
              *b = product.b + block * line * kVectors * line;
  for (; count > 0; --count, a += product.a_block) {
    ahead.fetch();
    for (std::ptrdiff_t k = 0; k < line; ++k, b += kVectors * line) {
      __m512bh right[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        right[v] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + v * line));
#pragma GCC unroll 14
      for (int r = 0; r < kRows; ++r) {
        const auto left = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[r * line + k]));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_dpbf16_ps(sums[r][v], left, right[v]);
      }
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* const to = product.c[v] + (row + r) * line;
      _mm512_storeu_ps(to, add ? _mm512_add_ps(sums[r][v], _mm512_loadu_ps(to)) : sums[r][v]);
    }
}

using Dots = void (*)(const RnnProduct& product, std::ptrdiff_t row, std::ptrdiff_t block,
                      std::ptrdiff_t count, Ahead& ahead);
using DotsByRows = std::array<Dots, most_rows>;  ///< by rows - 1

template <int kVectors, int... kRows>
constexpr DotsByRows make_dots(std::integer_sequence<int, kRows...>) {
  return {(kRows < choose_rows(kVectors)
               ? &multiply_dots<std::min(kRows + 1, choose_rows(kVectors)), kVectors>
               : nullptr)...};
}
template <int kVectors>
constexpr DotsByRows make_dots() {
  return make_dots<kVectors>(std::make_integer_sequence<int, most_rows>());
}

void multiply_by_dots(const RnnProduct& product) {
  static constexpr std::array<DotsByRows, most_width> all{make_dots<1>(), make_dots<2>(),
                                                          make_dots<3>(), make_dots<4>()};
  const DotsByRows& dots = all[static_cast<std::size_t>(product.width - 1)];
  const std::ptrdiff_t most = choose_rows(product.width), parts = count_blocks(product.rows, most);
  Ahead ahead(product, parts * product.blocks);
  const std::ptrdiff_t slices = count_blocks(product.blocks, most_blocks);
  for (std::ptrdiff_t slice = 0; slice < slices; ++slice) {
    const std::ptrdiff_t block = product.blocks * slice / slices,
                         count = product.blocks * (slice + 1) / slices - block;
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const std::ptrdiff_t from = product.rows * part / parts,
                           to = product.rows * (part + 1) / parts;
      dots[static_cast<std::size_t>(to - from - 1)](product, from, block, count, ahead);
    }
  }
}

}  // namespace
HWY_POP_ATTRIBUTES

namespace {

const RnnPairs* find_pairs() {
  static const RnnPairs tiles{"AMX_BF16", &multiply_by_tiles},
      dots{"AVX512_BF16", &multiply_by_dots};
  // ASSAY_NATIVE_TARGET may have excluded AVX-512. hwy::SupportedTargets() is not called, because
  // in Highway 1.0 the call removes the limit for all later dispatches.
  if (!std::string_view(gemm_table().target).starts_with("AVX3")) return nullptr;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return nullptr;
  const unsigned leaves = a;
  // On Linux a process must request tiles before it uses them (Documentation/arch/x86/xstate.rst).
  constexpr long request_permission = 0x1023, tile_data = 18;
  if ((d >> 22 & 1) != 0 && (d >> 24 & 1) != 0 &&
      syscall(SYS_arch_prctl, request_permission, tile_data) == 0)
    return &tiles;
  if (leaves < 1 || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a >> 5 & 1) == 0) return nullptr;
  return &dots;
}

}  // namespace

const RnnPairs* rnn_pairs() {
  static const RnnPairs* const pairs = find_pairs();
  return pairs;
}

#else

const RnnPairs* rnn_pairs() { return nullptr; }

#endif

}  // namespace assay::native
