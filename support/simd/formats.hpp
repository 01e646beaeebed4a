// Loads and stores of element types as vectors of the type that is computed with (for fp16 and
// bf16, fp32), loops over such vectors, and tables of functions for all formats. A file of SIMD
// code is compiled once for each instruction set, and includes this header each time; hence the
// unusual guard.
#if defined(ASSAY_CORE_SIMD_FORMATS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_CORE_SIMD_FORMATS_HPP
#undef ASSAY_CORE_SIMD_FORMATS_HPP
#else
#define ASSAY_CORE_SIMD_FORMATS_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "support/simd/storage_tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Numbers with the same type in memory and in computation.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> pack(D, hn::Vec<D> value) {
    return value;
  }
};

/// 16 bits for each lane of D, whose lanes are fp32.
template <class D>
using Half = hn::Rebind<std::uint16_t, D>;

/// `bits`: 32 for each lane, all below 2^16.
template <class D, class Bits>
HWY_INLINE hn::Vec<Half<D>> lower(D, Bits bits) {
  return hn::DemoteTo(Half<D>(), hn::BitCast(hn::RebindToSigned<D>(), bits));
}

/// bf16 is the upper half of fp32. Stored, it is rounded to nearest even.
struct Bf16 {
  using Stored = std::uint16_t;
  using Value = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const Stored* from) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(Half<D>(), from))));
  }
  template <class D>
  static HWY_INLINE hn::Vec<Half<D>> pack(D d, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu))));
    // Rounding could carry a NaN into infinity: so a NaN keeps its upper bits and becomes quiet.
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
    const auto is_nan =
        hn::Gt(hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFFFFFFu))), hn::Set(di, 0x7F800000));
    return lower(d, hn::IfThenElse(hn::RebindMask(du, is_nan), quiet, rounded));
  }
};

// If the processor cannot convert fp16, Highway 1.0.3 emulates the conversion and truncates. These
// targets therefore use the code below, which rounds.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64

struct Fp16 {
  using Stored = std::uint16_t;
  using Value = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const Stored* from) {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<Half<D>> pack(D, hn::Vec<D> value) {
    return hn::BitCast(Half<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
  }
};

#else

struct Fp16 {
  using Stored = std::uint16_t;
  using Value = float;

  /// The exponent field is 5 bits with bias 15, fp32's 8 bits with bias 127: a product with 2^112
  /// moves the bias, exactly, and makes subnormal numbers normal.
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const Stored* from) {
    const hn::RebindToUnsigned<D> du;
    const auto half = hn::PromoteTo(du, hn::LoadU(Half<D>(), from));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7FFFu)));
    const auto value = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
    const auto exponent = hn::Set(du, 0x7C00u);  // of infinity and NaN
    const auto special =
        hn::IfThenElseZero(hn::Eq(hn::And(half, exponent), exponent), hn::Set(du, 0x7F800000u));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
    return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, value), special), sign));
  }
  template <class D>
  static HWY_INLINE hn::Vec<Half<D>> pack(D d, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, value);
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
    // Normal results: move the bias, round at bit 13 to even; a carry runs into the exponent, up to
    // infinity, as it should.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
    const auto moved = hn::Sub(magnitude, hn::Set(du, 112u << 23));
    const auto normal = hn::ShiftRight<13>(hn::Add(moved, hn::Add(odd, hn::Set(du, 0xFFFu))));
    // Subnormal ones are multiples of 2^-24, which is the last place of numbers just above 1/2: the
    // addition rounds.
    const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f));
    const auto subnormal = hn::Sub(hn::BitCast(du, sum), hn::Set(du, 0x3F000000u));
    const auto above = [&](std::int32_t most) HWY_ATTR {
      return hn::RebindMask(du, hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, most)));
    };
    auto result = hn::IfThenElse(above(0x387FFFFF), normal, subnormal);        // from 2^-14
    result = hn::IfThenElse(above(0x477FFFFF), hn::Set(du, 0x7C00u), result);  // from 2^16
    result = hn::IfThenElse(above(0x7F800000), hn::Set(du, 0x7E00u), result);  // NaN
    return lower(d, hn::Or(result, sign));
  }
};

#endif

/// The lanes of D, whose values a format computes with, as they are stored.
template <class Format, class D>
using Packed = hn::Rebind<typename Format::Stored, D>;

template <class Format, class D>
HWY_INLINE void store(Format, hn::Vec<D> value, D d, typename Format::Stored* to) {
  hn::StoreU(Format::pack(d, value), Packed<Format, D>(), to);
}

/// Calls body(d, first element) for whole vectors (of at most 64 bytes) of `count` elements, then
/// for the remaining elements one by one.
template <class Value, class Body>
HWY_INLINE void each_vector(std::ptrdiff_t count, const Body& body) {
  const hn::CappedTag<Value, 64 / sizeof(Value)> d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  std::ptrdiff_t i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  const hn::CappedTag<Value, 1> single;
  for (; i < count; ++i) body(single, i);
}

/// The tables of this instruction set: Kernel<Format>::table() for each format.
template <template <class Value> class Table, template <class Format> class Kernel>
const StorageTables<Table>* storage_tables() {
  static const StorageTables<Table> tables{Kernel<Plain<float>>::table(), Kernel<Bf16>::table(),
                                           Kernel<Fp16>::table(), Kernel<Plain<double>>::table()};
  return &tables;
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

/// Use it at the end of a file: defines `const StorageTables<Table>& name()` in assay::room, the
/// tables of Kernel for the best instruction set of the processor. (HWY_EXPORT takes no templates.)
#undef ASSAY_STORAGE_TABLES
#define ASSAY_STORAGE_TABLES(room, name, Table, Kernel)           \
  HWY_BEFORE_NAMESPACE();                                         \
  namespace assay::room::HWY_NAMESPACE {                          \
  const StorageTables<Table>* name##_here() {                     \
    return assay::HWY_NAMESPACE::storage_tables<Table, Kernel>(); \
  }                                                               \
  }                                                               \
  HWY_AFTER_NAMESPACE();                                          \
  ASSAY_EXPORT_TABLES(room, name, Table)
#undef ASSAY_EXPORT_TABLES
#if HWY_ONCE
#define ASSAY_EXPORT_TABLES(room, name, Table)                                        \
  namespace assay::room {                                                             \
  HWY_EXPORT(name##_here);                                                            \
  const StorageTables<Table>& name() { return *HWY_DYNAMIC_DISPATCH(name##_here)(); } \
  }
#else
#define ASSAY_EXPORT_TABLES(room, name, Table)
#endif

#endif
