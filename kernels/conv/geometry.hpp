#pragma once
// Index arithmetic of convolution for the oracle, the checksum and the bounds. Backends must not
// include it: they have their own, so that both cannot share a mistake.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/conv/problem.hpp"

namespace assay::convolution {

/// One spatial dimension: output o reads input o*stride + t*step - pad at tap t of the kernel.
struct Axis {
  std::int64_t in, out, taps, stride, step, pad;

  std::int64_t input(std::int64_t o, std::int64_t t) const { return o * stride + t * step - pad; }
  /// Outputs [first, last) whose tap `t` lies inside the input.
  std::array<std::int64_t, 2> outputs(std::int64_t t) const {
    const std::int64_t offset = t * step - pad;  // input = o*stride + offset in [0, in)
    const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t last = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
    return {std::min(first, out), std::max(std::min(first, out), std::min(last, out))};
  }
};

inline std::array<Axis, 3> axes(const ConvShape& s) {
  return {Axis{s.id, s.od, s.kd, s.sd, s.dd + 1, s.pd},
          Axis{s.ih, s.oh, s.kh, s.sh, s.dh + 1, s.ph},
          Axis{s.iw, s.ow, s.kw, s.sw, s.dw + 1, s.pw}};
}

inline std::int64_t inputs(const ConvShape& s) { return s.id * s.ih * s.iw; }
inline std::int64_t outputs(const ConvShape& s) { return s.od * s.oh * s.ow; }
inline std::int64_t taps(const ConvShape& s) { return s.kd * s.kh * s.kw; }

/// Products in one output element, padding taps included.
inline std::int64_t reduction(const ConvShape& s, ConvDirection direction) {
  switch (direction) {
    case ConvDirection::forward:
      return s.ic / s.g * taps(s);
    case ConvDirection::bwd_data:
      return s.oc / s.g * taps(s);
    case ConvDirection::bwd_weights:
      return s.mb * outputs(s);
  }
  return 0;
}

}  // namespace assay::convolution
