// Sums over the pixels of each channel, and element-wise passes, of batch normalization.

#include "kernels/native/norm_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/norm_simd.cpp"
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

/// Number of rows whose elements are added to a channel's sums while these are in registers.
constexpr std::ptrdiff_t rows_at_once = 8;

template <class Format>
struct Norm {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  static void statistics(const void* from, std::ptrdiff_t rows, std::ptrdiff_t channels,
                         const Value* pivot, Value* sums, Value* squares) {
    for (std::ptrdiff_t first = 0; first < rows; first += rows_at_once) {
      const Stored* const x = static_cast<const Stored*>(from) + first * channels;
      const std::ptrdiff_t count = std::min(rows_at_once, rows - first);
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const auto by = hn::LoadU(d, pivot + j);
        auto sum = hn::LoadU(d, sums + j), square = hn::LoadU(d, squares + j);
        for (std::ptrdiff_t row = 0; row < count; ++row) {
          const auto element = Format::load(d, x + row * channels + j);
          const auto moved = hn::Sub(element, by);
          sum = hn::Add(sum, element);
          square = hn::MulAdd(moved, moved, square);
        }
        hn::StoreU(sum, d, sums + j);
        hn::StoreU(square, d, squares + j);
      });
    }
  }

  static void normalize(const void* from, const void* addend, std::ptrdiff_t rows,
                        std::ptrdiff_t channels, const Value* factor, const Value* mean,
                        const Value* shift, bool relu, void* to) {
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const std::ptrdiff_t at = row * channels;
      const Stored* const x = static_cast<const Stored*>(from) + at;
      const Stored* const more =
          addend == nullptr ? nullptr : static_cast<const Stored*>(addend) + at;
      Stored* const y = static_cast<Stored*>(to) + at;
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const auto centred = hn::Sub(Format::load(d, x + j), hn::LoadU(d, mean + j));
        auto value = hn::MulAdd(centred, hn::LoadU(d, factor + j), hn::LoadU(d, shift + j));
        if (more != nullptr) value = hn::Add(value, Format::load(d, more + j));
        // Max is not used, because it would turn NaN into a number.
        if (relu) value = hn::IfThenElse(hn::Le(value, hn::Zero(d)), hn::Zero(d), value);
        assay::HWY_NAMESPACE::store(Format(), value, d, y + j);
      });
    }
  }

  /// The part of diff that passed the rectifier.
  template <class D>
  static HWY_INLINE hn::Vec<D> select_passed(D d, const Stored* dst, const Stored* diff,
                                             std::ptrdiff_t at) {
    const auto g = Format::load(d, diff + at);
    if (dst == nullptr) return g;
    return hn::IfThenElseZero(hn::Gt(Format::load(d, dst + at), hn::Zero(d)), g);
  }

  static void gradient_sums(const void* from, const void* dst, const void* diff,
                            std::ptrdiff_t rows, std::ptrdiff_t channels, const Value* mean,
                            Value* sums, Value* products, void* passed) {
    const auto* const x = static_cast<const Stored*>(from);
    const auto* const y = static_cast<const Stored*>(dst);
    const auto* const g = static_cast<const Stored*>(diff);
    auto* const to = static_cast<Stored*>(passed);
    for (std::ptrdiff_t first = 0; first < rows; first += rows_at_once) {
      const std::ptrdiff_t count = std::min(rows_at_once, rows - first);
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const auto by = hn::LoadU(d, mean + j);
        auto sum = hn::LoadU(d, sums + j), product = hn::LoadU(d, products + j);
        for (std::ptrdiff_t row = 0; row < count; ++row) {
          const std::ptrdiff_t at = (first + row) * channels + j;
          const auto gradient = select_passed(d, y, g, at);
          sum = hn::Add(sum, gradient);
          product = hn::MulAdd(gradient, hn::Sub(Format::load(d, x + at), by), product);
          if (to != nullptr) assay::HWY_NAMESPACE::store(Format(), gradient, d, to + at);
        }
        hn::StoreU(sum, d, sums + j);
        hn::StoreU(product, d, products + j);
      });
    }
  }

  static void gradients(const void* from, const void* dst, const void* diff, std::ptrdiff_t rows,
                        std::ptrdiff_t channels, const Value* mean, const Value* factor,
                        const Value* slope, const Value* offset, void* to) {
    const auto* const x = static_cast<const Stored*>(from);
    const auto* const y = static_cast<const Stored*>(dst);
    const auto* const g = static_cast<const Stored*>(diff);
    for (std::ptrdiff_t row = 0; row < rows; ++row)
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const std::ptrdiff_t at = row * channels + j;
        const auto centred = hn::Sub(Format::load(d, x + at), hn::LoadU(d, mean + j));
        const auto drift = hn::MulAdd(centred, hn::LoadU(d, slope + j), hn::LoadU(d, offset + j));
        assay::HWY_NAMESPACE::store(
            Format(), hn::MulAdd(select_passed(d, y, g, at), hn::LoadU(d, factor + j), drift), d,
            static_cast<Stored*>(to) + at);
      });
  }

  static NormTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &statistics, &normalize, &gradient_sums, &gradients};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, norm_tables, NormTable, Norm)
