#pragma once
// Convolutions of nhwc activations whose weights are row-major ("nhwc_oihw").

#include <memory>

#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::cuda {

/// `inner` computes the problem in nhwc with channels-innermost filters. Every run converts the
/// row-major weights to that order, or their gradients from it.
std::unique_ptr<Operation> with_plain_weights(const ConvProblem& problem,
                                              std::unique_ptr<Operation> inner);

}  // namespace assay::cuda
