// Sums over parameters, and their update.

#include "kernels/native/update_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/update_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

/// `Copy`: the format of the 16-bit copies, or Plain where there are none.
template <class Copy>
struct Update {
  using Stored = typename Copy::Stored;
  using Value = typename Copy::Value;

  template <class D>
  static HWY_INLINE hn::Vec<D> wide(D d, const Value* from) {
    const auto stored = hn::LoadU(hn::Rebind<Value, D>(), from);
    if constexpr (sizeof(Value) == sizeof(double))
      return stored;
    else
      return hn::PromoteTo(d, stored);
  }

  /// In fp64, whatever is stored: in fp32, squares of small gradients are 0, and of large ones
  /// infinite.
  static void sums(const Value* gradient, const Value* weights, std::ptrdiff_t count,
                   UpdateSums& to) {
    const hn::CappedTag<double, 64 / sizeof(double)> all;
    auto of_gradient = hn::Zero(all), of_weights = hn::Zero(all);
    std::ptrdiff_t not_finite = 0, zeros = 0;
    each_vector<double>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto g = wide(d, gradient + i), w = wide(d, weights + i);
      // The difference of what is not finite from itself is no number.
      const auto finite = hn::Eq(hn::Sub(g, g), hn::Zero(d));
      not_finite += static_cast<std::ptrdiff_t>(hn::Lanes(d) - hn::CountTrue(d, finite));
      zeros += static_cast<std::ptrdiff_t>(hn::CountTrue(d, hn::Eq(g, hn::Zero(d))));
      if constexpr (std::is_same_v<decltype(d), std::remove_const_t<decltype(all)>>) {
        of_gradient = hn::MulAdd(g, g, of_gradient);
        of_weights = hn::MulAdd(w, w, of_weights);
      } else {
        to.gradient += hn::GetLane(g) * hn::GetLane(g);
        to.weights += hn::GetLane(w) * hn::GetLane(w);
      }
    });
    to.gradient += hn::GetLane(hn::SumOfLanes(all, of_gradient));
    to.weights += hn::GetLane(hn::SumOfLanes(all, of_weights));
    to.not_finite += static_cast<double>(not_finite);
    to.zeros += static_cast<double>(zeros);
  }

  template <class D>
  static HWY_INLINE void copy(D d, hn::Vec<D> value, void* stored, std::ptrdiff_t i) {
    if constexpr (sizeof(Stored) == 2)
      assay::HWY_NAMESPACE::store(Copy(), value, d, static_cast<Stored*>(stored) + i);
    else
      (void)d, (void)value, (void)stored, (void)i;
  }

  static std::ptrdiff_t update(const Value* gradient, std::ptrdiff_t count,
                               const UpdateStep<Value>& step, Value* weights, Value* velocity,
                               void* stored) {
    std::ptrdiff_t stale = 0;
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto g = hn::LoadU(d, gradient + i), w = hn::LoadU(d, weights + i);
      const auto decayed =
          hn::MulAdd(w, hn::Set(d, step.of_weight), hn::Mul(g, hn::Set(d, step.of_gradient)));
      const auto v = hn::MulAdd(hn::LoadU(d, velocity + i), hn::Set(d, step.momentum), decayed);
      const auto moved = hn::Mul(v, hn::Set(d, step.of_velocity));
      const auto after = hn::Sub(w, moved);
      stale += static_cast<std::ptrdiff_t>(
          hn::CountTrue(d, hn::And(hn::Eq(after, w), hn::Ne(moved, hn::Zero(d)))));
      hn::StoreU(v, d, velocity + i);
      hn::StoreU(after, d, weights + i);
      copy(d, after, stored, i);
    });
    return stale;
  }

  static void store(const Value* weights, std::ptrdiff_t count, void* stored) {
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i)
                                  HWY_ATTR { copy(d, hn::LoadU(d, weights + i), stored, i); });
  }

  static UpdateTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &sums, &update, &store};
  }
};

}  // namespace

const StorageTables<UpdateTable>* update_tables_here() {
  return assay::HWY_NAMESPACE::storage_tables<UpdateTable, Update>();
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(update_tables_here);
const StorageTables<UpdateTable>& update_tables() {
  return *HWY_DYNAMIC_DISPATCH(update_tables_here)();
}
}  // namespace assay::native
#endif
