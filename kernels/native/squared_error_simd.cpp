// Passes over the features of one sample.

#include "kernels/native/squared_error_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/squared_error_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

template <class Format>
struct SquaredError {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  /// The elements in fp64.
  template <class D>
  static HWY_INLINE hn::Vec<D> wide(D d, const Stored* from) {
    if constexpr (std::is_same_v<Value, double>)
      return Format::load(d, from);
    else
      return hn::PromoteTo(d, Format::load(hn::Rebind<float, D>(), from));
  }
  static double read_first(const Stored* from) {
    const hn::CappedTag<double, 1> single;
    return hn::GetLane(wide(single, from));
  }
  template <class D>
  static HWY_INLINE double total(D d, hn::Vec<D> lanes) {
    return hn::GetLane(hn::SumOfLanes(d, lanes));
  }

  /// The mean of the values less the first one: exactly 0 if all are equal.
  static double mean_from(const Stored* from, double first, std::ptrdiff_t features) {
    const hn::CappedTag<double, 8> d;
    auto lanes = hn::Zero(d);
    const auto count = static_cast<std::ptrdiff_t>(hn::Lanes(d));
    std::ptrdiff_t i = 0;
    for (; i + count <= features; i += count)
      lanes = hn::Add(lanes, hn::Sub(wide(d, from + i), hn::Set(d, first)));
    double sum = total(d, lanes);
    for (; i < features; ++i) sum += read_first(from + i) - first;
    return sum / static_cast<double>(features);
  }

  static ErrorSums sum(const void* outputs, const void* targets, std::ptrdiff_t features) {
    const auto *const x = static_cast<const Stored*>(outputs), *const t =
                                                                   static_cast<const Stored*>(
                                                                       targets);
    const double x0 = read_first(x), t0 = read_first(t), mx = mean_from(x, x0, features),
                 mt = mean_from(t, t0, features);
    const auto add = [&](auto d, std::ptrdiff_t i, auto& squares, auto& xx, auto& tt,
                         auto& xt) HWY_ATTR {
      const auto of_x = wide(d, x + i), of_t = wide(d, t + i), apart = hn::Sub(of_x, of_t),
                 dx = hn::Sub(hn::Sub(of_x, hn::Set(d, x0)), hn::Set(d, mx)),
                 dt = hn::Sub(hn::Sub(of_t, hn::Set(d, t0)), hn::Set(d, mt));
      squares = hn::MulAdd(apart, apart, squares);
      xx = hn::MulAdd(dx, dx, xx);
      tt = hn::MulAdd(dt, dt, tt);
      xt = hn::MulAdd(dx, dt, xt);
    };
    const hn::CappedTag<double, 8> d;
    const hn::CappedTag<double, 1> single;
    auto squares = hn::Zero(d), xx = squares, tt = squares, xt = squares;
    auto squares_1 = hn::Zero(single), xx_1 = squares_1, tt_1 = squares_1, xt_1 = squares_1;
    const auto count = static_cast<std::ptrdiff_t>(hn::Lanes(d));
    std::ptrdiff_t i = 0;
    for (; i + count <= features; i += count) add(d, i, squares, xx, tt, xt);
    for (; i < features; ++i) add(single, i, squares_1, xx_1, tt_1, xt_1);
    return {total(d, squares) + hn::GetLane(squares_1), total(d, xx) + hn::GetLane(xx_1),
            total(d, tt) + hn::GetLane(tt_1), total(d, xt) + hn::GetLane(xt_1)};
  }

  static void gradients(const void* outputs, const void* targets, std::ptrdiff_t features, Value by,
                        void* to) {
    const auto *const x = static_cast<const Stored*>(outputs), *const t =
                                                                   static_cast<const Stored*>(
                                                                       targets);
    auto* const out = static_cast<Stored*>(to);
    each_vector<Value>(features, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto apart = hn::Sub(Format::load(d, x + i), Format::load(d, t + i));
      assay::HWY_NAMESPACE::store(Format(), hn::Mul(hn::Set(d, by), apart), d, out + i);
    });
  }

  static SquaredErrorTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &sum, &gradients};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, squared_error_tables, SquaredErrorTable, SquaredError)
