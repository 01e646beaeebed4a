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
#include <cstdint>
#include <string_view>

#include "kernels/native/conv_simd.hpp"

namespace assay::native {

#if defined(__x86_64__) && defined(__linux__)
namespace {

constexpr std::ptrdiff_t line = 16;       // in 4 bytes: pairs of bf16, or a sum
constexpr std::ptrdiff_t tile_rows = 16;  // of a tile, whose rows are lines

/// What the operand from behind the caches is fetched by: some lines with each block.
struct Ahead {
  const float* at;
  std::ptrdiff_t each;
  Ahead(const RnnProduct& of, std::ptrdiff_t turns) : at(of.next), each(0) {
    const std::ptrdiff_t lines = of.blocks * (of.fetches_a ? of.rows : of.width * line);
    if (at != nullptr) each = (lines + turns - 1) / turns;
  }
  void fetch() {
    for (std::ptrdiff_t i = 0; i < each; ++i, at += line) __builtin_prefetch(at, 0, 2);
  }
};

/// Tiles 0 to 3 are sums, 4 and 5 of a, 6 and 7 of b; `rows` of the sums and of a.
struct alignas(64) Configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_of_row[16] = {};
  std::uint8_t rows_of[16] = {};
  explicit Configuration(std::ptrdiff_t rows) {
    std::fill_n(bytes_of_row, 8, line * sizeof(float));
    std::fill_n(rows_of, 6, rows);
    std::fill_n(rows_of + 6, 2, tile_rows);
  }
};

}  // namespace

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")
namespace {

/// kRows x kColumns tiles of sums, from row `row` and block of columns `column` on.
template <int kRows, int kColumns>
void multiply_tiles(const RnnProduct& of, std::ptrdiff_t row, int column, Ahead& ahead) {
  constexpr int bytes = line * sizeof(float);
  float* const c0 = of.c[column] + row * line;
  float* const c1 = kColumns == 2 ? of.c[column + 1] + row * line : nullptr;
  constexpr std::ptrdiff_t below = tile_rows * line;
  if (of.add) {
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
  const float *a = of.a + row * line, *b = of.b + column * line;
  const std::ptrdiff_t step = of.width * line;
  for (std::ptrdiff_t block = 0; block < of.blocks; ++block) {
    _tile_loadd(4, a, bytes);
    _tile_loadd(6, b, step * sizeof(float));
    if constexpr (kRows == 2) _tile_loadd(5, a + below, bytes);
    if constexpr (kColumns == 2) _tile_loadd(7, b + line, step * sizeof(float));
    ahead.fetch();
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumns == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRows == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kRows == 2 && kColumns == 2) _tile_dpbf16ps(3, 5, 7);
    a += of.a_block;
    b += tile_rows * step;
  }
  _tile_stored(0, c0, bytes);
  if constexpr (kColumns == 2) _tile_stored(1, c1, bytes);
  if constexpr (kRows == 2) _tile_stored(2, c0 + below, bytes);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, c1 + below, bytes);
}

template <int kRows>
void multiply_tile_rows(const RnnProduct& of, std::ptrdiff_t row, Ahead& ahead) {
  int column = 0;
  for (; column + 2 <= of.width; column += 2) multiply_tiles<kRows, 2>(of, row, column, ahead);
  if (column < of.width) multiply_tiles<kRows, 1>(of, row, column, ahead);
}

void multiply_by_tiles(const RnnProduct& of) {
  const std::ptrdiff_t whole = of.rows / tile_rows, rest = of.rows % tile_rows;
  Ahead ahead(of, (whole / 2 + whole % 2 + (rest > 0)) * ((of.width + 1) / 2) * of.blocks);
  std::ptrdiff_t tile = 0;
  if (whole > 0) {
    static const Configuration all(tile_rows);
    _tile_loadconfig(&all);
    for (; tile + 2 <= whole; tile += 2) multiply_tile_rows<2>(of, tile * tile_rows, ahead);
    if (tile < whole) multiply_tile_rows<1>(of, tile * tile_rows, ahead);
  }
  if (rest > 0) {
    const Configuration some(rest);
    _tile_loadconfig(&some);
    multiply_tile_rows<1>(of, whole * tile_rows, ahead);
  }
  _tile_release();
}

/// kRows rows of one block of columns.
template <int kRows>
void multiply_dots(const RnnProduct& of, std::ptrdiff_t row, int column, Ahead& ahead) {
  __m512 sums[kRows];
  float* const c = of.c[column] + row * line;
  for (int r = 0; r < kRows; ++r)
    sums[r] = of.add ? _mm512_loadu_ps(c + r * line) : _mm512_setzero_ps();
  const std::ptrdiff_t step = of.width * line;
  const float *a = of.a + row * line, *b = of.b + column * line;
  for (std::ptrdiff_t block = 0; block < of.blocks; ++block, a += of.a_block) {
    ahead.fetch();
    for (std::ptrdiff_t k = 0; k < line; ++k, b += step) {
      const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b));
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r)
        sums[r] = _mm512_dpbf16_ps(
            sums[r], reinterpret_cast<__m512bh>(_mm512_set1_ps(a[r * line + k])), right);
    }
  }
  for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(c + r * line, sums[r]);
}

void multiply_by_dots(const RnnProduct& of) {
  constexpr int most = 12;
  const std::ptrdiff_t whole = of.rows / most, rest = of.rows % most;
  Ahead ahead(of, (whole + rest) * of.width * of.blocks);
  for (int column = 0; column < of.width; ++column) {
    for (std::ptrdiff_t part = 0; part < whole; ++part)
      multiply_dots<most>(of, part * most, column, ahead);
    for (std::ptrdiff_t row = whole * most; row < of.rows; ++row)
      multiply_dots<1>(of, row, column, ahead);
  }
}

}  // namespace
HWY_POP_ATTRIBUTES

namespace {

const RnnPairs* find_pairs() {
  static const RnnPairs tiles{"AMX_BF16", &multiply_by_tiles},
      dots{"AVX512_BF16", &multiply_by_dots};
  // ASSAY_NATIVE_TARGET may have taken AVX-512 away. hwy::SupportedTargets() is not asked: in
  // Highway 1.0 the call takes the limit back for all that is dispatched later.
  if (!std::string_view(gemm_table().target).starts_with("AVX3")) return nullptr;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return nullptr;
  const unsigned leaves = a;
  // Linux lets a process use tiles when it has asked for them (Documentation/arch/x86/xstate.rst).
  constexpr long request_permission = 0x1023, tile_data = 18;
  if ((d >> 22 & 1) != 0 && (d >> 24 & 1) != 0 &&
      syscall(SYS_arch_prctl, request_permission, tile_data) == 0)
    return &tiles;
  if (leaves < 1 || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a >> 5 & 1) == 0) return nullptr;
  return &dots;
}

}  // namespace

const RnnPairs* rnn_pairs() {
  static const RnnPairs* const found = find_pairs();
  return found;
}

#else

const RnnPairs* rnn_pairs() { return nullptr; }

#endif

}  // namespace assay::native
