// Sums of pixels, of rows, and of neighbours in a row.

#include "kernels/native/resize_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/resize_simd.cpp"
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
struct Resize {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  using Index = typename ResizeTable<Value>::Index;

  static void add_pixels(const void* from, const ResizeAxis<Value>& down,
                         const ResizeAxis<Value>& along, std::ptrdiff_t y, std::ptrdiff_t pixel,
                         std::ptrdiff_t channels, void* to) {
    const std::ptrdiff_t row = along.inputs * pixel, rows = down.count.data()[y];
    const auto* const in = static_cast<const Stored*>(from) + down.first.data()[y] * row;
    auto* out = static_cast<Stored*>(to);
    const Value* const of_rows = down.weights.data() + y * down.taps;
    for (std::ptrdiff_t x = 0; x < along.outputs; ++x, out += pixel) {
      const Stored* const first = in + along.first.data()[x] * pixel;
      const Value* const of_columns = along.weights.data() + x * along.taps;
      const std::ptrdiff_t columns = along.count.data()[x];
      if (rows == 2 && columns == 2)
        blend(first, row, pixel, of_rows, of_columns, channels, out);
      else
        add(first, row, pixel, of_rows, rows, of_columns, columns, channels, out);
    }
  }

  /// Four pixels.
  static HWY_INLINE void blend(const Stored* from, std::ptrdiff_t row, std::ptrdiff_t pixel,
                               const Value* of_rows, const Value* of_columns,
                               std::ptrdiff_t channels, Stored* to) {
    const Value w[] = {of_rows[0] * of_columns[0], of_rows[0] * of_columns[1],
                       of_rows[1] * of_columns[0], of_rows[1] * of_columns[1]};
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      const Stored *const above = from + j, *const below = above + row;
      auto left = hn::Mul(Format::load(d, above), hn::Set(d, w[0]));
      auto right = hn::Mul(Format::load(d, above + pixel), hn::Set(d, w[1]));
      left = hn::MulAdd(Format::load(d, below), hn::Set(d, w[2]), left);
      right = hn::MulAdd(Format::load(d, below + pixel), hn::Set(d, w[3]), right);
      assay::HWY_NAMESPACE::store(Format(), hn::Add(left, right), d, to + j);
    });
  }

  static HWY_INLINE void add(const Stored* from, std::ptrdiff_t row, std::ptrdiff_t pixel,
                             const Value* of_rows, std::ptrdiff_t rows, const Value* of_columns,
                             std::ptrdiff_t columns, std::ptrdiff_t channels, Stored* to) {
    each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
        auto of_row = hn::Zero(d);
        for (std::ptrdiff_t k = 0; k < columns; ++k)
          of_row = hn::MulAdd(Format::load(d, from + i * row + k * pixel + j),
                              hn::Set(d, of_columns[k]), of_row);
        sum = hn::MulAdd(of_row, hn::Set(d, of_rows[i]), sum);
      }
      assay::HWY_NAMESPACE::store(Format(), sum, d, to + j);
    });
  }

  static void add_rows(const void* from, std::ptrdiff_t rows, const Value* weights,
                       std::ptrdiff_t width, Value* to) {
    const auto* const x = static_cast<const Stored*>(from);
    each_vector<Value>(width, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (std::ptrdiff_t row = 0; row < rows; ++row)
        sum = hn::MulAdd(Format::load(d, x + row * width + j), hn::Set(d, weights[row]), sum);
      hn::StoreU(sum, d, to + j);
    });
  }

  static void add_columns(const Value* from, const Index* first, const Value* weights,
                          std::ptrdiff_t taps, std::ptrdiff_t count, void* to) {
    each_vector<Value>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> di;
      const auto at = hn::LoadU(di, first + i);
      auto sum = hn::Zero(d);
      for (std::ptrdiff_t k = 0; k < taps; ++k)
        sum = hn::MulAdd(hn::GatherIndex(d, from + k, at), hn::LoadU(d, weights + k * count + i),
                         sum);
      assay::HWY_NAMESPACE::store(Format(), sum, d, static_cast<Stored*>(to) + i);
    });
  }

  static ResizeTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &add_pixels, &add_rows, &add_columns};
  }
};

}  // namespace
}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

ASSAY_STORAGE_TABLES(native, resize_tables, ResizeTable, Resize)
