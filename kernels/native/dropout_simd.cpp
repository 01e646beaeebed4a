// Masks of dropout by Philox4x32-10, and the products with them.

#include "kernels/native/dropout_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/dropout_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

/// Elements whose words are drawn before they are used, so that the words stay in the first-level
/// cache.
constexpr std::ptrdiff_t words_at_once = 1024;

/// Draws the words of `count` blocks (a multiple of 8) from `block` on. Each 64-bit lane of a
/// vector has one block. Until the end, the upper halves of words contain remainders of products.
HWY_INLINE void draw(const DropoutMask& mask, std::uint64_t block, std::ptrdiff_t count,
                     std::uint32_t* to) {
  const hn::CappedTag<std::uint64_t, 8> d;
  [[maybe_unused]] const hn::Repartition<std::uint32_t, decltype(d)> halves;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const auto low_half = hn::Set(d, std::uint64_t{0xFFFFFFFF});
  const auto product = [&](auto word, std::uint64_t factor) HWY_ATTR {
#if HWY_TARGET == HWY_SCALAR
    return hn::Mul(hn::And(word, low_half), hn::Set(d, factor));
#else
    return hn::MulEven(hn::BitCast(halves, word), hn::BitCast(halves, hn::Set(d, factor)));
#endif
  };
  for (std::ptrdiff_t i = 0; i < count; i += lanes) {
    const auto number =
        hn::Add(hn::Set(d, block + static_cast<std::uint64_t>(i)), hn::Iota(d, std::uint64_t{0}));
    auto a = number, b = hn::ShiftRight<32>(number), c = hn::Set(d, std::uint64_t{mask.step}),
         e = hn::Zero(d);
    std::uint32_t key0 = mask.key[0], key1 = mask.key[1];
    for (int round = 0; round < 10; ++round) {
      const auto first = product(a, 0xD2511F53u), second = product(c, 0xCD9E8D57u);
      a = hn::Xor(hn::Xor(hn::ShiftRight<32>(second), b), hn::Set(d, std::uint64_t{key0}));
      b = second;
      c = hn::Xor(hn::Xor(hn::ShiftRight<32>(first), e), hn::Set(d, std::uint64_t{key1}));
      e = first;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved2(hn::Or(hn::And(a, low_half), hn::ShiftLeft<32>(b)),
                          hn::Or(hn::And(c, low_half), hn::ShiftLeft<32>(e)), d,
                          reinterpret_cast<std::uint64_t*>(to + 4 * i));
  }
}

/// The lanes whose words are below `least`.
template <class D>
HWY_INLINE hn::Mask<D> find_dropped(D d, const std::uint32_t* words, std::uint32_t least) {
  const hn::Rebind<std::uint32_t, D> narrow;
  const auto word = hn::LoadU(narrow, words);
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d, hn::Lt(word, hn::Set(narrow, least)));
  } else {
    const hn::RebindToUnsigned<D> wide;
    return hn::RebindMask(d,
                          hn::Lt(hn::PromoteTo(wide, word), hn::Set(wide, std::uint64_t{least})));
  }
}

template <class Format>
struct Dropout {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  static void drop(const DropoutMask& mask, std::int64_t first, std::ptrdiff_t count,
                   const void* from, void* to) {
    alignas(64) std::uint32_t words[words_at_once];
    const auto scale = static_cast<Value>(mask.scale);
    for (std::ptrdiff_t at = 0; at < count; at += words_at_once) {
      const std::ptrdiff_t here = std::min(words_at_once, count - at);
      draw(mask, static_cast<std::uint64_t>(first + at) / 4, (here + 31) / 32 * 8, words);
      each_vector<Value>(here, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const auto x = Format::load(d, static_cast<const Stored*>(from) + at + j);
        assay::HWY_NAMESPACE::store(Format(),
                                    hn::IfThenZeroElse(find_dropped(d, words + j, mask.least),
                                                       hn::Mul(x, hn::Set(d, scale))),
                                    d, static_cast<Stored*>(to) + at + j);
      });
    }
  }

  static DropoutTable<Value> table() { return {hwy::TargetName(HWY_TARGET), &drop}; }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, dropout_tables, DropoutTable, Dropout)
