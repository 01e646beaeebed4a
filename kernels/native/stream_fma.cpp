// Peak of multiply-adds in fp64 and fp32, for every instruction set that Highway has.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/stream_fma.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <fmt/format.h>
#include <hwy/highway.h>

#include <utility>

#include "kernels/native/stream.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// If a multiply-add takes two instructions, the processor has no peak of multiply-adds, and the two
// instructions round twice.
#if HWY_ARCH_X86
constexpr bool fused = HWY_TARGET <= HWY_AVX2;
#else
constexpr bool fused = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
#endif
// Two multiply-adds per cycle need 10 chains if their latency is four or five cycles, and 18 if it
// is nine (A64FX); four per cycle with a latency of four need 16. Four registers hold the
// constants.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr std::size_t chains = 12;
#else
constexpr std::size_t chains = 24;
#endif

/// There is one `X` for each vector, and the vectors are updated in turn. A parameter pack keeps
/// them in registers; an array would be in memory.
template <class D, class T, class V, class... X>
HWY_INLINE void update(D d, T* y, std::int64_t pairs, V a, V b, V back, V up, X... x) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    ((x = hn::MulAdd(a, x, b)), ...);
    ((x = hn::MulAdd(back, x, up)), ...);
  }
  const std::size_t lanes = hn::Lanes(d);
  ((hn::Store(x, d, y), y += lanes), ...);
}

template <class D, class T, std::size_t... I>
HWY_INLINE void block(D d, const T* x, T* y, std::int64_t pairs, const FmaConstants<double>& c,
                      std::index_sequence<I...>) {
  const std::size_t lanes = hn::Lanes(d);
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<T>(value)); };
  const auto eighth = set(0.125), start = set(1.125);  // fma_start
  update(d, y, pairs, set(c.a), set(c.b), set(c.back), set(c.up),
         hn::MulAdd(hn::Load(d, x + I * lanes), eighth, start)...);
}

template <class T>
HWY_INLINE void run_any(const T* x, T* y, std::int64_t updates) {
  static const FmaConstants<double> constants = fma_constants(sizeof(T) == 4 ? 24 : 53);
  const hn::ScalableTag<T> d;
  const std::size_t step = chains * hn::Lanes(d);
  for (std::size_t i = 0; i + step <= stream_values; i += step)
    block(d, x + i, y + i, updates / 2, constants, std::make_index_sequence<chains>());
}

HWY_ATTR void run_float(const void* x, void* y, std::int64_t updates) {
  run_any(static_cast<const float*>(x), static_cast<float*>(y), updates);
}
HWY_ATTR void run_double(const void* x, void* y, std::int64_t updates) {
  run_any(static_cast<const double*>(x), static_cast<double*>(y), updates);
}

HWY_ATTR Result<Registers> describe(Precision precision) {
  const std::string name(assay::name(precision)), target = hwy::TargetName(HWY_TARGET);
  if (!fused)
    return Unsupported{fmt::format(
        "this processor has no fused multiply-add in vectors (of {} Highway chose {}). Its peak is "
        "not defined here.",
        name, target)};
  Registers all;
  const std::size_t lanes = precision == Precision::fp32 ? hn::Lanes(hn::ScalableTag<float>())
                                                         : hn::Lanes(hn::ScalableTag<double>());
  if (stream_values % (chains * lanes) != 0)
    return Unsupported{fmt::format("{} lanes of {} do not divide the {} values of a thread.", lanes,
                                   name, stream_values)};
  all.run = precision == Precision::fp32 ? &run_float : &run_double;
  all.vector_bits = static_cast<int>(lanes * (precision == Precision::fp32 ? 32 : 64));
  all.chains = static_cast<int>(chains);
  all.instructions = target;
  all.compute = all.accumulate = name;
  return all;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {

HWY_EXPORT(describe);

Result<Registers> fma_registers(Precision precision) {
  return HWY_DYNAMIC_DISPATCH(describe)(precision);
}

}  // namespace assay::native
#endif
