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

/// `Copy`: the format of the 16-bit copies, or Plain if there are none.
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

  /// The sums are in fp64 in every precision: in fp32, squares of small gradients would be 0, and
  /// squares of large ones infinite.
  static void sums(const Value* gradient, const Value* weights, std::ptrdiff_t count,
                   UpdateSums& to) {
    const hn::CappedTag<double, 64 / sizeof(double)> all;
    auto of_gradient = hn::Zero(all), of_weights = hn::Zero(all);
    std::ptrdiff_t not_finite = 0, zeros = 0;
    each_vector<double>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto g = wide(d, gradient + i), w = wide(d, weights + i);
      // The difference of a non-finite number from itself is NaN.
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

  /// Vectors of an element's states after the update, and of its step without of_velocity.
  template <class V>
  struct Moved {
    V velocity, second, step;
  };

  /// `second`: for momentum it does not exist, and is neither read nor computed.
  template <UpdateLoop loop, class D>
  static HWY_INLINE Moved<hn::Vec<D>> moved(D d, const UpdateStep<Value>& step, hn::Vec<D> g,
                                            hn::Vec<D> w, hn::Vec<D> v, hn::Vec<D> s) {
    const auto h =
        hn::MulAdd(w, hn::Set(d, step.of_weight), hn::Mul(g, hn::Set(d, step.of_gradient)));
    const auto keep = hn::Set(d, step.keep);
    if constexpr (loop == UpdateLoop::momentum) {
      const auto velocity = hn::MulAdd(v, keep, h);
      return {velocity, s, velocity};
    } else {
      const auto second = hn::MulAdd(s, hn::Set(d, step.keep_second),
                                     hn::Mul(hn::Mul(h, h), hn::Set(d, step.add_second)));
      const auto root =
          hn::MulAdd(hn::Sqrt(second), hn::Set(d, step.of_root), hn::Set(d, step.epsilon));
      if constexpr (loop == UpdateLoop::rmsprop) {
        const auto velocity = hn::MulAdd(v, keep, hn::Div(h, root));
        return {velocity, second, velocity};
      } else {
        const auto velocity = hn::MulAdd(v, keep, hn::Mul(h, hn::Set(d, step.add)));
        const auto first = hn::Div(hn::Mul(velocity, hn::Set(d, step.of_first)), root);
        return {velocity, second, hn::MulAdd(w, hn::Set(d, step.of_decay), first)};
      }
    }
  }

  template <UpdateLoop loop>
  static std::ptrdiff_t update(const Value* gradient, std::ptrdiff_t count,
                               const UpdateStep<Value>& step, Value* weights, Value* velocity,
                               Value* second, void* stored) {
    std::ptrdiff_t stale = 0;
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto g = hn::LoadU(d, gradient + i), w = hn::LoadU(d, weights + i),
                 v = hn::LoadU(d, velocity + i);
      auto s = hn::Zero(d);
      if constexpr (loop != UpdateLoop::momentum) s = hn::LoadU(d, second + i);
      const auto to = moved<loop>(d, step, g, w, v, s);
      const auto off = hn::Mul(to.step, hn::Set(d, step.of_velocity));
      const auto after = hn::Sub(w, off);
      stale += static_cast<std::ptrdiff_t>(
          hn::CountTrue(d, hn::And(hn::Eq(after, w), hn::Ne(off, hn::Zero(d)))));
      hn::StoreU(to.velocity, d, velocity + i);
      if constexpr (loop != UpdateLoop::momentum) hn::StoreU(to.second, d, second + i);
      hn::StoreU(after, d, weights + i);
      copy(d, after, stored, i);
    });
    return stale;
  }

  static void directions(const Value* gradient, std::ptrdiff_t count, const UpdateStep<Value>& step,
                         const Value* weights, const Value* velocity, const Value* second,
                         Value* to) {
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto moments =
          moved<UpdateLoop::moments>(d, step, hn::LoadU(d, gradient + i), hn::LoadU(d, weights + i),
                                     hn::LoadU(d, velocity + i), hn::LoadU(d, second + i));
      hn::StoreU(moments.step, d, to + i);
    });
  }

  static void store(const Value* weights, std::ptrdiff_t count, void* stored) {
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i)
                                  HWY_ATTR { copy(d, hn::LoadU(d, weights + i), stored, i); });
  }

  static UpdateTable<Value> table() {
    return {
        hwy::TargetName(HWY_TARGET),
        &sums,
        {&update<UpdateLoop::momentum>, &update<UpdateLoop::moments>, &update<UpdateLoop::rmsprop>},
        &directions,
        &store};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, update_tables, UpdateTable, Update)
