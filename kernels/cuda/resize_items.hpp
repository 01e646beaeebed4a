#pragma once
// The items (item.hpp) of bilinear resizing (kernels/resize/problem.hpp), channels innermost. Each
// computes `width` channels of a pixel. A backward pass gathers: it writes each gradient once, as a
// sum over the outputs in a fixed order.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// One dimension of a plane. Output o lies at (o * step + start) / by, within the plane.
struct ResizeAxis {
  std::int64_t in, out, step, start, by;
  Divisor bys, steps, inputs, outputs;
  ResizeAxis(std::int64_t in_, std::int64_t out_, bool aligned)
      : in(in_),
        out(out_),
        step(aligned ? in_ - 1 : 2 * in_),
        start(aligned ? 0 : in_ - out_),
        by(!aligned   ? 2 * out_
           : out_ > 1 ? out_ - 1
                      : 1),
        bys(by),
        steps(step > 0 ? step : 1),
        inputs(in_),
        outputs(out_) {}

  struct Place {
    std::int64_t left;
    std::int64_t rest;  ///< the second neighbour's weight, times `by`
  };
  ASSAY_ITEM Place place(std::int64_t o) const {
    const std::int64_t at = o * step + start;
    if (at <= 0) return {0, 0};
    const std::int64_t left = bys.quotient(at);
    return left < in - 1 ? Place{left, at - left * by} : Place{in - 1, 0};
  }
  /// The first output at or after pixel i.
  ASSAY_ITEM std::int64_t first_at(std::int64_t i) const {
    const std::int64_t distance = i * by - start;
    return distance <= 0 ? 0 : steps.quotient(distance + step - 1);
  }
  /// The outputs [first, last) that read pixel i, if their weight is not 0.
  ASSAY_ITEM std::int64_t first(std::int64_t i) const { return i == 0 ? 0 : first_at(i - 1); }
  ASSAY_ITEM std::int64_t last(std::int64_t i) const {
    const std::int64_t end = i == in - 1 ? out : first_at(i + 1);
    return end < out ? end : out;
  }
};

struct ResizePlanes {
  ResizeAxis y, x;
  std::int64_t channels;
  Divisor groups;  ///< by the packs of channels of a pixel
};

template <class Stored, int width>
struct ResizePixel {
  using Value = ValueOf<Stored>;
  const Stored* src;
  ResizePlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels, groups] = planes;
    const std::int64_t pixel = groups.quotient(i), row = along.outputs.quotient(pixel),
                       image = down.outputs.quotient(row);
    const ResizeAxis::Place y = down.place(row - image * down.out),
                            x = along.place(pixel - row * along.out);
    Value sum[width] = {}, values[width];
    for (int below = 0; below < (y.rest > 0 ? 2 : 1); ++below)
      for (int right = 0; right < (x.rest > 0 ? 2 : 1); ++right) {
        const Value weight = static_cast<Value>(below > 0 ? y.rest : down.by - y.rest) /
                             static_cast<Value>(down.by) *
                             (static_cast<Value>(right > 0 ? x.rest : along.by - x.rest) /
                              static_cast<Value>(along.by));
        load<width>(
            src + ((image * down.in + y.left + below) * along.in + x.left + right) * channels +
                (i - pixel * groups.by()) * width,
            values);
        for (int j = 0; j < width; ++j) sum[j] += weight * values[j];
      }
    store<width>(sum, to + i * width);
  }
};

/// The gradient of a pixel, from all outputs that read it.
template <class Stored, int width>
struct ResizeGather {
  using Value = ValueOf<Stored>;
  const Stored* diff_dst;
  ResizePlanes planes;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto& [down, along, channels, groups] = planes;
    const std::int64_t pixel = groups.quotient(i), row = along.inputs.quotient(pixel),
                       image = down.inputs.quotient(row), at_y = row - image * down.in,
                       at_x = pixel - row * along.in;
    Value sum[width] = {}, values[width];
    for (std::int64_t y = down.first(at_y); y < down.last(at_y); ++y) {
      const Value of_row = weight(down, y, at_y);
      for (std::int64_t x = along.first(at_x); x < along.last(at_x); ++x) {
        const Value both = of_row * weight(along, x, at_x);
        load<width>(diff_dst + ((image * down.out + y) * along.out + x) * channels +
                        (i - pixel * groups.by()) * width,
                    values);
        for (int j = 0; j < width; ++j) sum[j] += both * values[j];
      }
    }
    store<width>(sum, to + i * width);
  }

 private:
  /// The weights with which an output reads a pixel that is one of its two.
  ASSAY_ITEM static Value weight(const ResizeAxis& axis, std::int64_t output, std::int64_t pixel) {
    const ResizeAxis::Place place = axis.place(output);
    const std::int64_t part = place.left == pixel       ? axis.by - place.rest
                              : place.left + 1 == pixel ? place.rest
                                                        : 0;
    return static_cast<Value>(part) / static_cast<Value>(axis.by);
  }
};

}  // namespace assay::cuda
