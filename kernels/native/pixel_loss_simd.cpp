// Softmax cross-entropy of pixels. A vector holds pixels, because classes are few.

#include "kernels/native/pixel_loss_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/pixel_loss_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/native/functions_simd.hpp"
#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

template <class Format>
struct PixelLoss {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  using Whole = hn::CappedTag<Value, 64 / sizeof(Value)>;
  static constexpr std::ptrdiff_t tile = pixels_at_once;

  /// Numbers of each pixel that all its classes share.
  struct Pixels {
    alignas(64) Value largest[tile], first_largest[tile], sum[tile], factor[tile];
  };

  /// x [classes, tile] = exp(x - largest).
  static void softmax(std::ptrdiff_t classes, Value* x, Pixels& statistics) {
    const Whole d;
    for (std::ptrdiff_t p = 0; p < tile; p += static_cast<std::ptrdiff_t>(hn::Lanes(d))) {
      auto most = hn::LoadU(d, x + p), at = hn::Zero(d), sum = hn::Zero(d);
      for (std::ptrdiff_t c = 1; c < classes; ++c) {
        const auto value = hn::LoadU(d, x + c * tile + p);
        const auto larger = hn::Gt(value, most);
        most = hn::IfThenElse(larger, value, most);
        at = hn::IfThenElse(larger, hn::Set(d, static_cast<Value>(c)), at);
      }
      for (std::ptrdiff_t c = 0; c < classes; ++c) {
        const auto value = exponential(d, hn::Sub(hn::LoadU(d, x + c * tile + p), most));
        hn::StoreU(value, d, x + c * tile + p);
        sum = hn::Add(sum, value);
      }
      hn::StoreU(most, d, statistics.largest + p);
      hn::StoreU(at, d, statistics.first_largest + p);
      hn::StoreU(sum, d, statistics.sum + p);
    }
  }

  /// x = factor x / sum.
  static void scale(std::ptrdiff_t classes, Value* x, const Pixels& statistics) {
    const Whole d;
    for (std::ptrdiff_t p = 0; p < tile; p += static_cast<std::ptrdiff_t>(hn::Lanes(d)))
      for (std::ptrdiff_t c = 0; c < classes; ++c) {
        const auto share =
            hn::Div(hn::LoadU(d, x + c * tile + p), hn::LoadU(d, statistics.sum + p));
        hn::StoreU(hn::Mul(hn::LoadU(d, statistics.factor + p), share), d, x + c * tile + p);
      }
  }

  static double add(const void* logits, const std::int32_t* labels, const Value* weights,
                    std::ptrdiff_t classes, std::ptrdiff_t pixels, Value by, Value* scratch,
                    std::int32_t* confusion, void* diff_logits) {
    Value *const flat = scratch, *const x = scratch + tile * classes;
    const auto* const stored = static_cast<const Stored*>(logits);
    each_vector<Value>(pixels * classes, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      hn::StoreU(Format::load(d, stored + i), d, flat + i);
    });
    for (std::ptrdiff_t c = 0; c < classes; ++c)
      for (std::ptrdiff_t p = 0; p < tile; ++p)
        x[c * tile + p] = p < pixels ? flat[p * classes + c] : Value(0);
    Pixels statistics;
    softmax(classes, x, statistics);
    double loss = 0;
    for (std::ptrdiff_t p = 0; p < tile; ++p) {
      statistics.factor[p] = 0;
      if (p >= pixels) continue;
      const std::ptrdiff_t y = labels[p];
      const Value of_pixel =
          std::log(statistics.sum[p]) + (statistics.largest[p] - flat[p * classes + y]);
      loss += static_cast<double>(weights[y]) * static_cast<double>(of_pixel);
      ++confusion[y * classes + static_cast<std::ptrdiff_t>(statistics.first_largest[p])];
      statistics.factor[p] = by * weights[y];
      x[y * tile + p] -= statistics.sum[p];
    }
    if (diff_logits == nullptr) return loss;
    scale(classes, x, statistics);
    for (std::ptrdiff_t p = 0; p < pixels; ++p)
      for (std::ptrdiff_t c = 0; c < classes; ++c) flat[p * classes + c] = x[c * tile + p];
    auto* const to = static_cast<Stored*>(diff_logits);
    each_vector<Value>(pixels * classes, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      assay::HWY_NAMESPACE::store(Format(), hn::LoadU(d, flat + i), d, to + i);
    });
    return loss;
  }

  static PixelLossTable<Value> table() { return {hwy::TargetName(HWY_TARGET), &add}; }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, pixel_loss_tables, PixelLossTable, PixelLoss)
