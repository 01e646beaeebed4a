#pragma once
// The products of a convolution's outputs as code of one thread of a device
// (kernels/oracle/part_of_sum.hpp). The host has loops of its own (oracle.cpp).

#include <cstdint>

#include "core/api/item_code.hpp"

namespace assay::convolution {

/// One spatial dimension: output o reads input o * stride + t * step - pad at tap t.
struct Window {
  std::int64_t in = 1, out = 1, taps = 1, stride = 1, step = 1, pad = 0;
};

/// Products of an output in a fixed order: that of the filter or, for gradients of filters, that of
/// the outputs of the forward pass. Products that read padding do not count.
struct Products {
  static constexpr const char* name = "conv part of a sum";
  enum class Kind : std::int64_t { dst, diff_src, diff_weights };
  Kind kind = Kind::dst;
  std::int64_t groups = 1, inputs = 1, outputs = 1;  ///< channels of one group
  Window at[3];
  std::int64_t images = 1;  ///< not read: a device is trusted for one shape at a time

  /// Finds the offsets of the two factors of product `number` in the two inputs; false if it reads
  /// padding.
  ASSAY_ITEM bool find(std::int64_t output, std::int64_t number, std::int64_t& a,
                       std::int64_t& b) const {
    std::int64_t of_output[3], of_number[3];
    for (int d = 2; d >= 0; --d) {
      const std::int64_t extent = kind == Kind::dst        ? at[d].out
                                  : kind == Kind::diff_src ? at[d].in
                                                           : at[d].taps,
                         inner = kind == Kind::diff_weights ? at[d].out : at[d].taps;
      of_output[d] = output % extent;
      output /= extent;
      of_number[d] = number % inner;
      number /= inner;
    }
    // `output` is now an image and a channel (for filters two channels), and `number` a channel of
    // the group (for filters an image).
    std::int64_t in_place = 0, out_place = 0, tap = 0;
    for (int d = 0; d < 3; ++d) {
      const Window& w = at[d];
      std::int64_t in = 0, out = 0, t = of_number[d];
      if (kind == Kind::diff_src) {
        in = of_output[d];
        out = in + w.pad - t * w.step;
        if (out < 0 || out % w.stride != 0) return false;
        out /= w.stride;
      } else {
        out = kind == Kind::dst ? of_output[d] : of_number[d];
        t = kind == Kind::dst ? of_number[d] : of_output[d];
        in = out * w.stride + t * w.step - w.pad;
      }
      if (in < 0 || in >= w.in || out >= w.out) return false;
      in_place = in_place * w.in + in;
      out_place = out_place * w.out + out;
      tap = tap * w.taps + t;
    }
    std::int64_t image = number, i = 0, o = 0;  // channels of all groups
    if (kind == Kind::diff_weights) {
      o = output / inputs;
      i = o / outputs * inputs + output % inputs;
    } else {
      const std::int64_t own = kind == Kind::dst ? outputs : inputs,
                         channel = output % (own * groups), group = channel / own;
      image = output / (own * groups);
      o = kind == Kind::dst ? channel : group * outputs + number;
      i = kind == Kind::dst ? group * inputs + number : channel;
    }
    const std::int64_t in_plane = at[0].in * at[1].in * at[2].in,
                       out_plane = at[0].out * at[1].out * at[2].out,
                       taps = at[0].taps * at[1].taps * at[2].taps,
                       src = (image * inputs * groups + i) * in_plane + in_place,
                       dst = (image * outputs * groups + o) * out_plane + out_place,
                       weight = (o * inputs + i % inputs) * taps + tap;
    a = kind == Kind::diff_src ? dst : src;
    b = kind == Kind::diff_weights ? dst : weight;
    return true;
  }
};

}  // namespace assay::convolution
