#pragma once

#include "kernels/conv/problem.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {

/// The convolution of mb = ic = oc = n that a problem of kernel matmul is: it shares tensors and
/// oracle.
ConvProblem as_convolution(const StreamProblem& problem);

}  // namespace assay
