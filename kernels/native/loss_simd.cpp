// Passes over the classes of one sample.

#include "kernels/native/loss_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/loss_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/native/functions_simd.hpp"
#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Format>
struct Loss {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  using Whole = hn::CappedTag<Value, 64 / sizeof(Value)>;
  using Single = hn::CappedTag<Value, 1>;

  /// Classes in whole vectors; the rest are taken one by one.
  static std::ptrdiff_t in_vectors(std::ptrdiff_t classes) {
    const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(Whole()));
    return classes / lanes * lanes;
  }

  static void add_bias(const void* from, const Value* bias, std::ptrdiff_t classes, Value* x,
                       Value* largest, Value* sum) {
    const Stored* const logits = static_cast<const Stored*>(from);
    const auto logit_at = [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto value = hn::Add(Format::load(d, logits + i), hn::LoadU(d, bias + i));
      hn::StoreU(value, d, x + i);
      return value;
    };
    const Whole d;
    const std::ptrdiff_t end = in_vectors(classes);
    auto most = hn::Set(d, -hwy::HighestValue<Value>()), total = hn::Zero(d);
    for (std::ptrdiff_t i = 0; i < end; i += static_cast<std::ptrdiff_t>(hn::Lanes(d))) {
      const auto value = logit_at(d, i);
      most = hn::Max(most, value);
      total = hn::Add(total, value);
    }
    *largest = hn::GetLane(hn::MaxOfLanes(d, most));
    *sum = hn::GetLane(hn::SumOfLanes(d, total));
    for (std::ptrdiff_t i = end; i < classes; ++i) {
      const Value value = hn::GetLane(logit_at(Single(), i));
      *largest = std::max(*largest, value);
      *sum += value;
    }
  }

  static Value exponentials(std::ptrdiff_t classes, Value largest, Value* x) {
    const auto exponential_at = [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto value = exponential(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, largest)));
      hn::StoreU(value, d, x + i);
      return value;
    };
    const Whole d;
    const std::ptrdiff_t end = in_vectors(classes);
    auto total = hn::Zero(d);
    for (std::ptrdiff_t i = 0; i < end; i += static_cast<std::ptrdiff_t>(hn::Lanes(d)))
      total = hn::Add(total, exponential_at(d, i));
    Value sum = hn::GetLane(hn::SumOfLanes(d, total));
    for (std::ptrdiff_t i = end; i < classes; ++i) sum += hn::GetLane(exponential_at(Single(), i));
    return sum;
  }

  static void gradients(const Value* x, std::ptrdiff_t classes, Value sum, Value part, Value by,
                        void* to, Value* of_bias) {
    const auto store_gradient = [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto softmax = hn::Div(hn::LoadU(d, x + i), hn::Set(d, sum));
      const auto g = hn::Mul(hn::Set(d, by), hn::Sub(softmax, hn::Set(d, part)));
      hn::StoreU(hn::Add(hn::LoadU(d, of_bias + i), g), d, of_bias + i);
      assay::HWY_NAMESPACE::store(Format(), g, d, static_cast<Stored*>(to) + i);
    };
    const Whole d;
    const std::ptrdiff_t end = in_vectors(classes);
    for (std::ptrdiff_t i = 0; i < end; i += static_cast<std::ptrdiff_t>(hn::Lanes(d)))
      store_gradient(d, i);
    for (std::ptrdiff_t i = end; i < classes; ++i) store_gradient(Single(), i);
  }

  static LossTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &add_bias, &exponentials, &gradients};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, loss_tables, LossTable, Loss)
