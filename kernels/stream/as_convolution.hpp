#pragma once
// The kernel matmul as a convolution.

#include "kernels/conv/problem.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {

/// The 1x1 convolution with mb = ic = oc = n that computes the same as a problem of kernel matmul.
/// matmul uses its tensors and its oracle.
ConvProblem make_convolution(const StreamProblem& problem);

}  // namespace assay
