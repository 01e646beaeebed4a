#pragma once
// The items (item.hpp) of pooling (kernels/pool/problem.hpp), channels innermost. Each computes
// `width` channels of a pixel. A backward pass gathers: it writes each gradient once, as a sum in
// the order of the windows.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// One dimension of a plane.
struct PoolAxis {
  std::int64_t in, out, taps, step, padding;
  /// The pixels [first, last) of a window that are within the plane.
  ASSAY_ITEM std::int64_t first(std::int64_t window) const {
    const std::int64_t at = window * step - padding;
    return at < 0 ? 0 : at;
  }
  ASSAY_ITEM std::int64_t last(std::int64_t window) const {
    const std::int64_t at = window * step - padding + taps;
    return at < in ? at : in;
  }
  /// The windows [first, last) that contain a pixel.
  ASSAY_ITEM std::int64_t first_window(std::int64_t pixel) const {
    const std::int64_t before =
        pixel + padding - taps;  // windows that begin here do not contain it
    return before < 0 ? 0 : before / step + 1;
  }
  ASSAY_ITEM std::int64_t last_window(std::int64_t pixel) const {
    const std::int64_t after = (pixel + padding) / step + 1;
    return after < out ? after : out;
  }
};

struct PoolPlanes {
  PoolAxis y, x;
  std::int64_t channels;
};

/// The work of one thread: a pixel of a plane, and `width` of its channels.
struct PoolPlace {
  std::int64_t image, y, x, channel;
  ASSAY_ITEM PoolPlace(std::int64_t i, std::int64_t height, std::int64_t width,
                       std::int64_t channels, int at_once) {
    const std::int64_t groups = channels / at_once;
    channel = i % groups * at_once;
    i /= groups;
    x = i % width;
    i /= width;
    y = i % height;
    image = i / height;
  }
};

/// The largest element of a window (the first of equal ones), or its index in the plane.
template <class Stored, int width>
struct PoolLargest {
  const Stored* src;
  PoolPlanes planes;
  Stored* to;            ///< null if only indices are needed
  std::int32_t* places;  ///< null if only elements are needed
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels] = planes;
    const PoolPlace at(i, down.out, along.out, channels, width);
    const std::int64_t plane = at.image * down.in * along.in;
    const std::int64_t corner = down.first(at.y) * along.in + along.first(at.x);
    ValueOf<Stored> best[width], values[width];
    std::int32_t where[width];
    load<width>(src + (plane + corner) * channels + at.channel, best);
    for (int j = 0; j < width; ++j) where[j] = static_cast<std::int32_t>(corner);
    for (std::int64_t y = down.first(at.y); y < down.last(at.y); ++y)
      for (std::int64_t x = along.first(at.x); x < along.last(at.x); ++x) {
        const std::int64_t pixel = y * along.in + x;
        load<width>(src + (plane + pixel) * channels + at.channel, values);
        for (int j = 0; j < width; ++j)
          if (values[j] > best[j]) {
            best[j] = values[j];
            where[j] = static_cast<std::int32_t>(pixel);
          }
      }
    if (to != nullptr) store<width>(best, to + i * width);
    if (places == nullptr) return;
    for (int j = 0; j < width; ++j) places[i * width + j] = where[j];
  }
};

template <class Stored, int width>
struct PoolMean {
  const Stored* src;
  PoolPlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels] = planes;
    const PoolPlace at(i, down.out, along.out, channels, width);
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
  const std::int32_t* places;  ///< indices of the largest elements; null for means
  PoolPlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels] = planes;
    const PoolPlace at(i, down.in, along.in, channels, width);
    const std::int64_t plane = at.image * down.out * along.out, pixel = at.y * along.in + at.x;
    ValueOf<Stored> sum[width] = {}, values[width];
    for (std::int64_t y = down.first_window(at.y); y < down.last_window(at.y); ++y)
      for (std::int64_t x = along.first_window(at.x); x < along.last_window(at.x); ++x) {
        const std::int64_t from = (plane + y * along.out + x) * channels + at.channel;
        load<width>(diff_dst + from, values);
        if (places == nullptr) {
          const auto part = 1 / static_cast<ValueOf<Stored>>((down.last(y) - down.first(y)) *
                                                             (along.last(x) - along.first(x)));
          for (int j = 0; j < width; ++j) sum[j] += values[j] * part;
        } else {
          for (int j = 0; j < width; ++j)
            if (places[from + j] == pixel) sum[j] += values[j];
        }
      }
    store<width>(sum, to + i * width);
  }
};

}  // namespace assay::cuda
