#pragma once
// The items (item.hpp) of pooling (kernels/pool/problem.hpp), channels innermost. Each computes
// `width` channels of a pixel. A backward pass gathers: it writes each gradient once, as a sum over
// the windows in a fixed order.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// One dimension of a plane.
struct PoolAxis {
  std::int64_t in, out, taps, step, padding;
  Divisor steps, pixels, windows;  ///< by step, in and out
  PoolAxis(std::int64_t in_, std::int64_t out_, std::int64_t taps_, std::int64_t step_,
           std::int64_t padding_)
      : in(in_),
        out(out_),
        taps(taps_),
        step(step_),
        padding(padding_),
        steps(step_),
        pixels(in_),
        windows(out_) {}
  /// The pixels [first, last) of a window that are within the plane. The window itself begins at
  /// begin().
  ASSAY_ITEM std::int64_t begin(std::int64_t window) const { return window * step - padding; }
  ASSAY_ITEM std::int64_t first(std::int64_t window) const {
    const std::int64_t at = begin(window);
    return at < 0 ? 0 : at;
  }
  ASSAY_ITEM std::int64_t last(std::int64_t window) const {
    const std::int64_t at = begin(window) + taps;
    return at < in ? at : in;
  }
  /// The last window that may contain a pixel; contains() tells whether it, or a window before it,
  /// does.
  ASSAY_ITEM std::int64_t last_window(std::int64_t pixel) const {
    const std::int64_t window = steps.quotient(pixel + padding);
    return window < out ? window : out - 1;
  }
  ASSAY_ITEM bool contains(std::int64_t window, std::int64_t pixel) const {
    return window >= 0 && begin(window) + taps > pixel;
  }
};

/// `groups`: divides by the packs of channels of a pixel.
struct PoolPlanes {
  PoolAxis y, x;
  std::int64_t channels;
  Divisor groups;
};

/// The work of one thread: a pixel of a plane, and `width` of its channels.
struct PoolPlace {
  std::int64_t image, y, x, channel;
  ASSAY_ITEM PoolPlace(std::int64_t i, const Divisor& height, const Divisor& width,
                       const Divisor& groups, int at_once) {
    const std::int64_t pixel = groups.quotient(i), row = width.quotient(pixel);
    channel = (i - pixel * groups.by()) * at_once;
    x = pixel - row * width.by();
    image = height.quotient(row);
    y = row - image * height.by();
  }
};

/// The number of a pixel in its window, in row-major order.
using PoolTap = std::uint16_t;

/// The largest element of a window (the first of equal ones), or its number.
template <class Stored, int width>
struct PoolLargest {
  const Stored* src;
  PoolPlanes planes;
  Stored* to;     ///< null if only numbers are needed
  PoolTap* taps;  ///< null if only elements are needed
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels, groups] = planes;
    const PoolPlace at(i, down.windows, along.windows, groups, width);
    const std::int64_t left = along.first(at.x), right = along.last(at.x);
    ValueOf<Stored> best[width] = {}, values[width];
    Pack<PoolTap, width> where = {};
    bool seen = false;
    for (std::int64_t y = down.first(at.y); y < down.last(at.y); ++y) {
      const Stored* from =
          src + ((at.image * down.in + y) * along.in + left) * channels + at.channel;
      auto tap =
          static_cast<PoolTap>((y - down.begin(at.y)) * along.taps + left - along.begin(at.x));
      for (std::int64_t x = left; x < right; ++x, ++tap, from += channels) {
        load<width>(from, values);
        for (int j = 0; j < width; ++j)
          if (!seen || values[j] > best[j]) {
            best[j] = values[j];
            where.at[j] = tap;
          }
        seen = true;
      }
    }
    if (to != nullptr) store<width>(best, to + i * width);
    if (taps != nullptr) *reinterpret_cast<Pack<PoolTap, width>*>(taps + i * width) = where;
  }
};

template <class Stored, int width>
struct PoolMean {
  const Stored* src;
  PoolPlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels, groups] = planes;
    const PoolPlace at(i, down.windows, along.windows, groups, width);
    const std::int64_t plane = at.image * down.in * along.in, top = down.first(at.y),
                       bottom = down.last(at.y), left = along.first(at.x), right = along.last(at.x);
    ValueOf<Stored> sum[width] = {}, values[width];
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = left; x < right; ++x) {
        load<width>(src + (plane + y * along.in + x) * channels + at.channel, values);
        for (int j = 0; j < width; ++j) sum[j] += values[j];
      }
    const auto part = 1 / static_cast<ValueOf<Stored>>((bottom - top) * (right - left));
    for (int j = 0; j < width; ++j) sum[j] *= part;
    store<width>(sum, to + i * width);
  }
};

/// The gradient of a pixel, from all windows that contain it.
template <class Stored, int width>
struct PoolGather {
  const Stored* diff_dst;
  const PoolTap* taps;  ///< numbers of the largest elements; null for means
  PoolPlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels, groups] = planes;
    const PoolPlace at(i, down.pixels, along.pixels, groups, width);
    ValueOf<Stored> sum[width] = {}, values[width];
    for (std::int64_t y = down.last_window(at.y); down.contains(y, at.y); --y)
      for (std::int64_t x = along.last_window(at.x); along.contains(x, at.x); --x) {
        const std::int64_t from =
            ((at.image * down.out + y) * along.out + x) * channels + at.channel;
        load<width>(diff_dst + from, values);
        if (taps == nullptr) {
          const auto part = 1 / static_cast<ValueOf<Stored>>((down.last(y) - down.first(y)) *
                                                             (along.last(x) - along.first(x)));
          for (int j = 0; j < width; ++j) sum[j] += values[j] * part;
        } else {
          const auto tap =
              static_cast<PoolTap>((at.y - down.begin(y)) * along.taps + at.x - along.begin(x));
          const auto largest = read<width>(taps + from);
          for (int j = 0; j < width; ++j)
            if (largest.at[j] == tap) sum[j] += values[j];
        }
      }
    store<width>(sum, to + i * width);
  }
};

}  // namespace assay::cuda
