// The largest or the mean of several pixels, for all channels, and the gradients of both.

#include "kernels/native/pool_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/pool_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

template <class Format>
struct Pool {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  static void largest(const void* from, PoolPixels pixels, std::ptrdiff_t channels, void* to,
                      Value* where) {
    const auto* const x = static_cast<const Stored*>(from);
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto best = Format::load(d, x + pixels.offsets[0] + j), at = hn::Zero(d);
      for (int i = 1; i < pixels.count; ++i) {
        const auto other = Format::load(d, x + pixels.offsets[i] + j);
        const auto larger = hn::Gt(other, best);
        best = hn::IfThenElse(larger, other, best);
        at = hn::IfThenElse(larger, hn::Set(d, static_cast<Value>(i)), at);
      }
      assay::HWY_NAMESPACE::store(Format(), best, d, static_cast<Stored*>(to) + j);
      if (where != nullptr) hn::StoreU(at, d, where + j);
    });
  }

  static void mean(const void* from, PoolPixels pixels, std::ptrdiff_t channels, Value factor,
                   void* to) {
    const auto* const x = static_cast<const Stored*>(from);
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int i = 0; i < pixels.count; ++i)
        sum = hn::Add(sum, Format::load(d, x + pixels.offsets[i] + j));
      assay::HWY_NAMESPACE::store(Format(), hn::Mul(sum, hn::Set(d, factor)), d,
                                  static_cast<Stored*>(to) + j);
    });
  }

  static void gather(const void* from, PoolPixels windows, const Value* where,
                     const std::ptrdiff_t* places, const Value* number, std::ptrdiff_t channels,
                     void* to) {
    const auto* const g = static_cast<const Stored*>(from);
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int i = 0; i < windows.count; ++i) {
        const auto here = hn::Eq(hn::LoadU(d, where + places[i] + j), hn::Set(d, number[i]));
        sum = hn::Add(sum, hn::IfThenElseZero(here, Format::load(d, g + windows.offsets[i] + j)));
      }
      assay::HWY_NAMESPACE::store(Format(), sum, d, static_cast<Stored*>(to) + j);
    });
  }

  static void share(const void* from, PoolPixels windows, const Value* factors,
                    std::ptrdiff_t channels, void* to) {
    const auto* const g = static_cast<const Stored*>(from);
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int i = 0; i < windows.count; ++i)
        sum = hn::MulAdd(Format::load(d, g + windows.offsets[i] + j), hn::Set(d, factors[i]), sum);
      assay::HWY_NAMESPACE::store(Format(), sum, d, static_cast<Stored*>(to) + j);
    });
  }

  static PoolTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &largest, &mean, &gather, &share};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, pool_tables, PoolTable, Pool)
