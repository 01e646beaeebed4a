#include "kernels/conv/inside.hpp"

#include <algorithm>

#include "kernels/conv/geometry.hpp"

namespace assay {

double flops_inside(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  double flops =
      2 * static_cast<double>(s.mb) * static_cast<double>(s.oc) * static_cast<double>(s.ic / s.g);
  for (const convolution::Axis& axis : convolution::axes(s)) {
    std::int64_t pairs = 0;  // of an output and a tap
    for (std::int64_t tap = 0; tap < axis.taps; ++tap)
      pairs += axis.outputs(tap)[1] - axis.outputs(tap)[0];
    flops *= static_cast<double>(pairs);
  }
  // 0 stands for all of them.
  return flops < problem.flops() / 2 ? std::max(flops, 1.0) : 0;
}

}  // namespace assay
