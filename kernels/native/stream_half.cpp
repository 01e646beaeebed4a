// Peak of 16-bit and 8-bit multiply-adds of x86, which Highway 1.0 does not have: AVX512-FP16
// arithmetic, and the dot products of AVX512-BF16 and AVX512-VNNI. Tiles: stream_tiles.cpp.

#include <fmt/format.h>

#include "kernels/native/stream.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <hwy/base.h>
#include <hwy/highway.h>

#include <optional>
#include <utility>

// These compilers support _Float16 in a function for AVX512_FP16 inside a file compiled for less.
#if defined(__clang__) ? __clang_major__ >= 15 : __GNUC__ >= 12
#define ASSAY_AVX512_FP16 1
#else
#define ASSAY_AVX512_FP16 0
#endif

namespace assay::native {

#if defined(__x86_64__)
namespace {

constexpr std::size_t chains = 24;

/// The units that the processor has and the system permits.
struct Features {
  bool fp16 = false, bf16 = false, vnni = false;
  Features() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__builtin_cpu_supports("avx512bw") || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    vnni = (c >> 11 & 1) != 0;
    fp16 = (d >> 23 & 1) != 0;
    const unsigned parts = a;
    if (parts >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) bf16 = (a >> 5 & 1) != 0;
  }
};

}  // namespace

#if ASSAY_AVX512_FP16
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512fp16")
namespace {

HWY_INLINE __m512h all_fp16(double value) { return _mm512_set1_ph(static_cast<_Float16>(value)); }

template <class... X>
HWY_INLINE void update_fp16(_Float16* y, std::int64_t pairs, __m512h a, __m512h b, __m512h back,
                            __m512h stay, __m512h up, X... x) {
  const std::int64_t rises = fp16_rises(2 * pairs);
  for (std::int64_t rise = 0; rise < rises; ++rise) {
    const std::int64_t idle = pairs * (rise + 1) / rises - pairs * rise / rises - 1;
    for (std::int64_t i = 0; i < idle; ++i) {
      ((x = _mm512_fmadd_ph(a, x, b)), ...);
      ((x = _mm512_fmadd_ph(back, x, stay)), ...);
    }
    ((x = _mm512_fmadd_ph(a, x, b)), ...);
    ((x = _mm512_fmadd_ph(back, x, up)), ...);
  }
  ((_mm512_storeu_ph(y, x), y += 32), ...);
}

template <std::size_t... I>
HWY_INLINE void block_fp16(const _Float16* x, _Float16* y, std::int64_t pairs,
                           const FmaConstants<double>& c, std::index_sequence<I...>) {
  const __m512h eighth = all_fp16(0.125), start = all_fp16(1.125);  // fma_start
  update_fp16(y, pairs, all_fp16(c.a), all_fp16(c.b), all_fp16(c.back), all_fp16(0.25),
              all_fp16(c.up), _mm512_fmadd_ph(_mm512_loadu_ph(x + 32 * I), eighth, start)...);
}

void run_fp16(const void* x, void* y, std::int64_t updates) {
  static const FmaConstants<double> constants = fma_constants(11);
  static_assert(stream_values % (chains * 32) == 0);
  for (std::int64_t i = 0; i < stream_values; i += static_cast<std::int64_t>(chains) * 32)
    block_fp16(static_cast<const _Float16*>(x) + i, static_cast<_Float16*>(y) + i, updates / 2,
               constants, std::make_index_sequence<chains>());
}

}  // namespace
HWY_POP_ATTRIBUTES
#endif

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
namespace {

HWY_INLINE __m512bh pairs_bf16(const int (&v)[4]) {
  return (__m512bh)_mm512_set1_epi32(static_cast<int>(dot_group(Precision::bf16, v)));
}

template <class... X>
HWY_INLINE void update_bf16(float* y, std::int64_t pairs, __m512bh first, __m512bh second,
                            __m512bh back, X... x) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    ((x = _mm512_dpbf16_ps(x, first, second)), ...);
    ((x = _mm512_dpbf16_ps(x, first, back)), ...);
  }
  ((_mm512_storeu_ps(y, x), y += 16), ...);
}

template <std::size_t... I>
HWY_INLINE void block_bf16(const float* x, float* y, std::int64_t pairs, const DotConstants& c,
                           std::index_sequence<I...>) {
  // Rounds to whole units, to nearest even: numbers above 2^23 have no fraction.
  const __m512 many = _mm512_set1_ps(0x1p20F), whole = _mm512_set1_ps(0x1.8p23F),
               unit = _mm512_set1_ps(0x1p-14F);
  update_bf16(
      y, pairs, pairs_bf16(c.first), pairs_bf16(c.second), pairs_bf16(c.back),
      _mm512_mul_ps(_mm512_sub_ps(_mm512_fmadd_ps(_mm512_loadu_ps(x + 16 * I), many, whole), whole),
                    unit)...);
}

void run_bf16(const void* x, void* y, std::int64_t updates) {
  static_assert(stream_values % (chains * 16) == 0);
  for (std::int64_t i = 0; i < stream_values; i += static_cast<std::int64_t>(chains) * 16)
    block_bf16(static_cast<const float*>(x) + i, static_cast<float*>(y) + i, updates / 2,
               dot_constants(Precision::bf16), std::make_index_sequence<chains>());
}

}  // namespace
HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")
namespace {

HWY_INLINE __m512i fours_int8(const int (&v)[4]) {
  return _mm512_set1_epi32(static_cast<int>(dot_group(Precision::int8, v)));
}

template <class... X>
HWY_INLINE void update_int8(std::int32_t* y, std::int64_t pairs, __m512i first, __m512i second,
                            __m512i back, X... x) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    ((x = _mm512_dpbusd_epi32(x, first, second)), ...);
    ((x = _mm512_dpbusd_epi32(x, first, back)), ...);
  }
  ((_mm512_storeu_si512(y, x), y += 16), ...);
}

template <std::size_t... I>
HWY_INLINE void block_int8(const std::int32_t* x, std::int32_t* y, std::int64_t pairs,
                           const DotConstants& c, std::index_sequence<I...>) {
  update_int8(y, pairs, fours_int8(c.first), fours_int8(c.second), fours_int8(c.back),
              _mm512_loadu_si512(x + 16 * I)...);
}

void run_int8(const void* x, void* y, std::int64_t updates) {
  for (std::int64_t i = 0; i < stream_values; i += static_cast<std::int64_t>(chains) * 16)
    block_int8(static_cast<const std::int32_t*>(x) + i, static_cast<std::int32_t*>(y) + i,
               updates / 2, dot_constants(Precision::int8), std::make_index_sequence<chains>());
}

}  // namespace
HWY_POP_ATTRIBUTES

Result<Registers> half_registers(Precision precision) {
  static const Features have;
  if (std::optional<Result<Registers>> tiles = tile_registers(precision)) return std::move(*tiles);
  if (precision == Precision::bf16 && have.bf16)
    return Registers{&run_bf16, "AVX512_BF16", "bf16", "fp32", 512, chains};
  if (precision == Precision::int8 && have.vnni)
    return Registers{&run_int8, "AVX512_VNNI", "int8", "s32", 512, chains};
#if ASSAY_AVX512_FP16
  if (precision == Precision::fp16 && have.fp16)
    return Registers{&run_fp16, "AVX512_FP16", "fp16", "fp16", 512, chains};
#else
  if (precision == Precision::fp16 && have.fp16)
    return Unsupported{"AVX512_FP16 arithmetic needs a build by GCC 12, Clang 15 or later."};
#endif
  return Unsupported{fmt::format("this processor has no {}.",
                                 precision == Precision::bf16   ? "AVX512_BF16 dot product"
                                 : precision == Precision::int8 ? "AVX512_VNNI dot product"
                                                                : "AVX512_FP16 arithmetic")};
}

#elif !defined(__aarch64__) || !defined(__linux__)

Result<Registers> half_registers(Precision precision) {
  return Unsupported{
      fmt::format("the peak of {} is measured on x86 and Arm alone.", name(precision))};
}

#endif

}  // namespace assay::native
