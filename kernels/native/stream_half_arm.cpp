// Peak of 16-bit and 8-bit multiply-adds of Arm, which Highway 1.0 does not have: arithmetic of
// fp16 in SVE; matrix products of bf16 and of bytes (BFMMLA, SMMLA), or dot products of bytes
// (SDOT), in SVE or in NEON vectors. Arm's matrix instructions are at least as fast as its dot
// products (optimization guides of Neoverse V1, N2, V2).

#if defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>
#include <asm/hwcap.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <hwy/base.h>
#include <hwy/highway.h>

#include <utility>

#include "kernels/native/stream.hpp"

// clang 14 requires that SVE is enabled for the whole file that includes it.
#if !defined(__clang__)
#include <arm_sve.h>
#define ASSAY_HAS_SVE 1
#else
#define ASSAY_HAS_SVE 0
#endif

namespace assay::native {
namespace {

constexpr std::int64_t chains = 24;

/// Factors of a pair of updates. Each half of a 128-bit vector has a row of the first matrix, and a
/// row of the second (transposed) one, whose parts add and subtract.
struct Matrices {
  std::uint64_t first, second;
  explicit Matrices(Precision precision) {
    const DotConstants c = dot_constants(precision);
    const auto twice = [&](const int(&low)[4], const int(&high)[4]) {
      return dot_group(precision, low) | std::uint64_t{dot_group(precision, high)} << 32;
    };
    first = twice(c.first, c.first);
    second = twice(c.second, c.back);
  }
};
const Matrices bf16_factors(Precision::bf16), int8_factors(Precision::int8);
/// Rounds to whole units, to nearest even: numbers above 2^23 have no fraction.
constexpr float many = 0x1p20F, whole = 0x1.8p23F, unit = 0x1p-14F;

}  // namespace

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+fp16+dotprod+bf16+i8mm")
namespace neon {
namespace {

// Constants are created where they are used, and stay in registers. They are no members, because a
// constructor added by the compiler would not belong to this instruction set, and no object can
// hold an SVE vector.
struct Bf16 {
  using Sum = float;
  static constexpr int steps = 1;
  static constexpr std::int64_t lanes() { return 4; }
  HWY_INLINE float32x4_t load(const float* x) const {
    const float32x4_t shift = vdupq_n_f32(whole);
    return vmulq_n_f32(vsubq_f32(vfmaq_n_f32(shift, vld1q_f32(x), many), shift), unit);
  }
  HWY_INLINE void store(float32x4_t x, float* y) const { vst1q_f32(y, x); }
  HWY_INLINE float32x4_t first(float32x4_t x) const {
    return vbfmmlaq_f32(x, vreinterpretq_bf16_u64(vdupq_n_u64(bf16_factors.first)),
                        vreinterpretq_bf16_u64(vdupq_n_u64(bf16_factors.second)));
  }
};

struct Int8 {
  using Sum = std::int32_t;
  static constexpr int steps = 1;
  static constexpr std::int64_t lanes() { return 4; }
  HWY_INLINE int32x4_t load(const std::int32_t* x) const { return vld1q_s32(x); }
  HWY_INLINE void store(int32x4_t x, std::int32_t* y) const { vst1q_s32(y, x); }
  HWY_INLINE int32x4_t first(int32x4_t x) const {
    return vmmlaq_s32(x, vreinterpretq_s8_u64(vdupq_n_u64(int8_factors.first)),
                      vreinterpretq_s8_u64(vdupq_n_u64(int8_factors.second)));
  }
};

struct Int8Dot : Int8 {
  static constexpr int steps = 2;
  HWY_INLINE static int32x4_t dot(int32x4_t x, std::uint64_t factors) {
    return vdotq_s32(x, vreinterpretq_s8_u64(vdupq_n_u64(int8_factors.first)),
                     vreinterpretq_s8_u32(vdupq_n_u32(static_cast<std::uint32_t>(factors))));
  }
  HWY_INLINE int32x4_t first(int32x4_t x) const { return dot(x, int8_factors.second); }
  HWY_INLINE int32x4_t second(int32x4_t x) const { return dot(x, int8_factors.second >> 32); }
};

#include "kernels/native/stream_chains.inl"

}  // namespace
}  // namespace neon
HWY_POP_ATTRIBUTES

#if ASSAY_HAS_SVE
HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+sve+fp16+bf16+i8mm")
namespace sve {
namespace {

struct Bf16 {
  using Sum = float;
  static constexpr int steps = 1;
  HWY_INLINE static std::int64_t lanes() { return static_cast<std::int64_t>(svcntw()); }
  HWY_INLINE svfloat32_t load(const float* x) const {
    const svbool_t all = svptrue_b32();
    const svfloat32_t shift = svdup_f32(whole);
    return svmul_n_f32_x(
        all, svsub_f32_x(all, svmla_n_f32_x(all, shift, svld1_f32(all, x), many), shift), unit);
  }
  HWY_INLINE void store(svfloat32_t x, float* y) const { svst1_f32(svptrue_b32(), y, x); }
  HWY_INLINE svfloat32_t first(svfloat32_t x) const {
    return svbfmmla_f32(x, svreinterpret_bf16_u64(svdup_u64(bf16_factors.first)),
                        svreinterpret_bf16_u64(svdup_u64(bf16_factors.second)));
  }
};

struct Int8 {
  using Sum = std::int32_t;
  static constexpr int steps = 1;
  HWY_INLINE static std::int64_t lanes() { return static_cast<std::int64_t>(svcntw()); }
  HWY_INLINE svint32_t load(const std::int32_t* x) const { return svld1_s32(svptrue_b32(), x); }
  HWY_INLINE void store(svint32_t x, std::int32_t* y) const { svst1_s32(svptrue_b32(), y, x); }
  HWY_INLINE svint32_t first(svint32_t x) const {
    return svmmla_s32(x, svreinterpret_s8_u64(svdup_u64(int8_factors.first)),
                      svreinterpret_s8_u64(svdup_u64(int8_factors.second)));
  }
};

struct Int8Dot : Int8 {
  static constexpr int steps = 2;
  HWY_INLINE static svint32_t dot(svint32_t x, std::uint64_t factors) {
    return svdot_s32(x, svreinterpret_s8_u64(svdup_u64(int8_factors.first)),
                     svreinterpret_s8_u32(svdup_u32(static_cast<std::uint32_t>(factors))));
  }
  HWY_INLINE svint32_t first(svint32_t x) const { return dot(x, int8_factors.second); }
  HWY_INLINE svint32_t second(svint32_t x) const { return dot(x, int8_factors.second >> 32); }
};

#include "kernels/native/stream_chains.inl"

template <class... X>
HWY_INLINE void update_fp16(float16_t* y, std::int64_t pairs, svfloat16_t a, svfloat16_t b,
                            svfloat16_t back, svfloat16_t stay, svfloat16_t up, X... x) {
  const svbool_t all = svptrue_b16();
  const std::int64_t rises = fp16_rises(2 * pairs);
  for (std::int64_t rise = 0; rise < rises; ++rise) {
    const std::int64_t idle = pairs * (rise + 1) / rises - pairs * rise / rises - 1;
    for (std::int64_t i = 0; i < idle; ++i) {
      ((x = svmad_f16_x(all, x, a, b)), ...);
      ((x = svmad_f16_x(all, x, back, stay)), ...);
    }
    ((x = svmad_f16_x(all, x, a, b)), ...);
    ((x = svmad_f16_x(all, x, back, up)), ...);
  }
  ((svst1_f16(all, y, x), y += svcnth()), ...);
}

HWY_INLINE svfloat16_t all_fp16(double value) { return svdup_f16(static_cast<float16_t>(value)); }

/// The arguments are those of fma_start.
HWY_INLINE svfloat16_t start_fp16(const float16_t* x) {
  const svbool_t all = svptrue_b16();
  return svmad_f16_x(all, svld1_f16(all, x), all_fp16(0.125), all_fp16(1.125));
}

template <std::size_t... I>
HWY_INLINE void block_fp16(const float16_t* x, float16_t* y, std::int64_t pairs,
                           const FmaConstants<double>& c, std::index_sequence<I...>) {
  update_fp16(y, pairs, all_fp16(c.a), all_fp16(c.b), all_fp16(c.back), all_fp16(0.25),
              all_fp16(c.up), start_fp16(x + I * svcnth())...);
}

void run_fp16(const void* x, void* y, std::int64_t updates) {
  static const FmaConstants<double> constants = fma_constants(11);
  const std::int64_t step = chains * static_cast<std::int64_t>(svcnth());
  for (std::int64_t i = 0; i < stream_values; i += step)
    block_fp16(static_cast<const float16_t*>(x) + i, static_cast<float16_t*>(y) + i, updates / 2,
               constants, std::make_index_sequence<static_cast<std::size_t>(chains)>());
}

int vector_bits() { return static_cast<int>(8 * svcntb()); }

}  // namespace
}  // namespace sve
HWY_POP_ATTRIBUTES
#endif

Result<Registers> half_registers(Precision precision) {
  const unsigned long old = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
  const auto registers = [&](auto run, const char* instructions, int bits) -> Result<Registers> {
    const bool bytes = precision == Precision::int8, half = precision == Precision::fp16;
    const int lane = half ? 16 : 32;
    if (stream_values % (chains * bits / lane) != 0)
      return Unsupported{fmt::format("vectors of {} bits do not divide the {} values of a thread.",
                                     bits, stream_values)};
    return Registers{run,
                     instructions,
                     std::string(name(precision)),
                     bytes  ? "s32"
                     : half ? "fp16"
                            : "fp32",
                     bits,
                     static_cast<int>(chains)};
  };
  if ((old & HWCAP_SVE) != 0) {
#if ASSAY_HAS_SVE
    const int bits = sve::vector_bits();
    if (precision == Precision::fp16) return registers(&sve::run_fp16, "SVE_FMAD", bits);
    if (precision == Precision::bf16 && (more & HWCAP2_SVEBF16) != 0)
      return registers(&sve::run<sve::Bf16>, "SVE_BFMMLA", bits);
    if (precision == Precision::int8)
      return (more & HWCAP2_SVEI8MM) != 0 ? registers(&sve::run<sve::Int8>, "SVE_SMMLA", bits)
                                          : registers(&sve::run<sve::Int8Dot>, "SVE_SDOT", bits);
#else
    return Unsupported{
        "this processor has SVE, for which this program's compiler made nothing (the peak of NEON "
        "would be no ceiling)."};
#endif
  } else {
    if (precision == Precision::bf16 && (more & HWCAP2_BF16) != 0)
      return registers(&neon::run<neon::Bf16>, "NEON_BFMMLA", 128);
    if (precision == Precision::int8 && (more & HWCAP2_I8MM) != 0)
      return registers(&neon::run<neon::Int8>, "NEON_SMMLA", 128);
    if (precision == Precision::int8 && (old & HWCAP_ASIMDDP) != 0)
      return registers(&neon::run<neon::Int8Dot>, "NEON_SDOT", 128);
  }
  return Unsupported{fmt::format("this processor has no {}.",
                                 precision == Precision::bf16   ? "BFMMLA"
                                 : precision == Precision::int8 ? "SMMLA or SDOT"
                                                                : "SVE arithmetic of fp16")};
}

}  // namespace assay::native

#endif
