#include "datasets/images/resize.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "datasets/images/resize.cpp"
#include "support/simd/targets.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// line[i] = the sum over the rows of their weights times byte i. `fixed` is the number of rows, so
/// that the compiler unrolls its loop, or 0.
template <int fixed>
HWY_INLINE void sum_rows_by_taps(const std::uint8_t* rows, std::int64_t stride,
                                 const float* weights, int any, std::int64_t bytes, float* line) {
  const int taps = fixed > 0 ? fixed : any;
  const hn::ScalableTag<float> reals;
  const hn::Rebind<std::int32_t, decltype(reals)> integers;
  const hn::Rebind<std::uint8_t, decltype(reals)> small;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(reals));
  std::int64_t i = 0;
  for (; i + lanes <= bytes; i += lanes) {
    auto sum = hn::Zero(reals);
    for (int k = 0; k < taps; ++k) {
      const auto value =
          hn::ConvertTo(reals, hn::PromoteTo(integers, hn::LoadU(small, rows + k * stride + i)));
      sum = hn::Add(sum, hn::Mul(hn::Set(reals, weights[k]), value));
    }
    hn::StoreU(sum, reals, line + i);
  }
  for (; i < bytes; ++i) {
    float sum = 0;
    for (int k = 0; k < taps; ++k) sum += weights[k] * static_cast<float>(rows[k * stride + i]);
    line[i] = sum;
  }
}

void sum_rows(const std::uint8_t* rows, std::int64_t stride, const float* weights, int taps,
              std::int64_t bytes, float* line) {
  const auto sum = taps == 3   ? sum_rows_by_taps<3>
                   : taps == 4 ? sum_rows_by_taps<4>
                   : taps == 5 ? sum_rows_by_taps<5>
                               : sum_rows_by_taps<0>;
  sum(rows, stride, weights, taps, bytes, line);
}

/// out[step i + c] = the normalised sum of colour c of `taps` pixels from first[i]; a fourth number
/// behind them is written, too. `fixed` as above.
template <int fixed>
HWY_INLINE void sum_columns_by_taps(const float* line, const int* first, const float* weights,
                                    int any, int size, const float* scale, const float* shift,
                                    int step, float* out) {
  const int taps = fixed > 0 ? fixed : any;
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < size; ++i, weights += taps)
    for (int c = 0; c < 4; ++c) {
      float sum = 0;
      for (int k = 0; k < taps; ++k) sum += weights[k] * line[4 * (first[i] + k) + c];
      out[step * i + c] = sum * scale[c] - shift[c];
    }
#else
  const hn::FixedTag<float, 4> pixel;
  const auto scales = hn::LoadU(pixel, scale), shifts = hn::LoadU(pixel, shift);
  for (int i = 0; i < size; ++i, weights += taps, out += step) {
    const float* from = line + 4 * static_cast<std::int64_t>(first[i]);
    auto sum = hn::Zero(pixel);
    for (std::int64_t k = 0; k < taps; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(pixel, weights[k]), hn::LoadU(pixel, from + 4 * k)));
    hn::StoreU(hn::Sub(hn::Mul(sum, scales), shifts), pixel, out);
  }
#endif
}

void sum_columns(const float* line, const int* first, const float* weights, int taps, int size,
                 const float* scale, const float* shift, int step, float* out) {
  const auto sum = taps == 3   ? sum_columns_by_taps<3>
                   : taps == 4 ? sum_columns_by_taps<4>
                   : taps == 5 ? sum_columns_by_taps<5>
                               : sum_columns_by_taps<0>;
  sum(line, first, weights, taps, size, scale, shift, step, out);
}

/// Copies with non-temporal stores: a batch is larger than the caches, and is read much later.
void stream_row(const float* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> reals;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(reals));
  std::int64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % (sizeof(float) * hn::Lanes(reals)) == 0)
    for (; i + lanes <= count; i += lanes) hn::Stream(hn::LoadU(reals, from + i), reals, to + i);
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace
}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

HWY_EXPORT(sum_rows);
HWY_EXPORT(sum_columns);
HWY_EXPORT(stream_row);

constexpr float scales[] = {normal_scale(0), normal_scale(1), normal_scale(2), 0};
constexpr float shifts[] = {normal_shift(0), normal_shift(1), normal_shift(2), 0};

struct Range {
  int first = 0, count = 0;
};

/// The whole pixels that a part touches.
Range cover_pixels(double start, double length, int pixels) {
  const int first = std::clamp(static_cast<int>(std::floor(start)), 0, pixels - 1);
  const int end = std::clamp(static_cast<int>(std::ceil(start + length)), first + 1, pixels);
  return {first, end - first};
}

}  // namespace

void resize_axis(double start, double length, int pixels, int size, bool flip, ResizeAxis& axis) {
  const Range part = cover_pixels(start, length, pixels);
  const double scale = length / size, reach = std::max(scale, 1.0);
  axis.taps = std::min(static_cast<int>(std::ceil(2 * reach)) + 1, part.count);
  axis.first.assign(static_cast<std::size_t>(size), 0);
  axis.weights.assign(static_cast<std::size_t>(size) * static_cast<std::size_t>(axis.taps), 0);
  const int end = part.first + part.count;
  for (int i = 0; i < size; ++i) {
    const double centre = start + (i + 0.5) * scale;
    // Pixel p is at p + 1/2; the filter is 0 at a distance of `reach`.
    const int from =
        std::clamp(static_cast<int>(std::floor(centre - reach + 0.5)), part.first, end - axis.taps);
    const int to = flip ? size - 1 - i : i;
    float* const weights = axis.weights.data() + static_cast<std::ptrdiff_t>(to) * axis.taps;
    double sum = 0;
    for (int k = 0; k < axis.taps; ++k)
      sum += std::max(0.0, 1 - std::abs(from + k + 0.5 - centre) / reach);
    for (int k = 0; k < axis.taps; ++k)
      weights[k] =
          static_cast<float>(std::max(0.0, 1 - std::abs(from + k + 0.5 - centre) / reach) / sum);
    axis.first[static_cast<std::size_t>(to)] = from;
  }
}

PixelBox Resizer::box(ImageSize image, double x, double y, double width, double height) {
  const Range columns = cover_pixels(x, width, image.width),
              rows = cover_pixels(y, height, image.height);
  return {columns.first, rows.first, columns.count, rows.count};
}

void Resizer::resize(const PixelView& pixels, ImageSize image, double x, double y, double width,
                     double height, bool flip, int size, ImageLayout layout, float* out) {
  resize_axis(x, width, image.width, size, flip, columns_);
  resize_axis(y, height, image.height, size, false, rows_);
  for (int& first : columns_.first) first -= pixels.box.x;
  const std::int64_t bytes = std::int64_t{4} * pixels.box.width;
  line_.resize(static_cast<std::size_t>(bytes + std::int64_t{4} * size));
  float* const result = line_.data() + bytes;
  const std::int64_t plane = std::int64_t{size} * size;
  for (int row = 0; row < size; ++row) {
    const int from = rows_.first[static_cast<std::size_t>(row)] - pixels.box.y;
    HWY_DYNAMIC_DISPATCH(sum_rows)
    (pixels.first + from * pixels.stride, pixels.stride,
     rows_.weights.data() + static_cast<std::ptrdiff_t>(row) * rows_.taps, rows_.taps, bytes,
     line_.data());
    const bool nhwc = layout == ImageLayout::nhwc;
    HWY_DYNAMIC_DISPATCH(sum_columns)
    (line_.data(), columns_.first.data(), columns_.weights.data(), columns_.taps, size, scales,
     shifts, nhwc ? 3 : 4, result);
    const std::int64_t at = std::int64_t{row} * size;
    if (nhwc) {
      HWY_DYNAMIC_DISPATCH(stream_row)(result, std::int64_t{3} * size, out + 3 * at);
      continue;
    }
    for (int c = 0; c < 3; ++c)
      for (int i = 0; i < size; ++i) out[c * plane + at + i] = result[4 * i + c];
  }
  hwy::FlushStream();
}

}  // namespace assay

#endif
