#pragma once
// Gradients of weights in fp32 from 16-bit activations and gradients, which cuDNN does not have.

#include <memory>

#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::cuda {

/// `inner` computes the gradient of the weights of the (mixed) problem from fp32 inputs, in which
/// every run first stores the 16-bit ones.
std::unique_ptr<Operation> with_wide_inputs(const ConvProblem& problem,
                                            std::unique_ptr<Operation> inner);

}  // namespace assay::cuda
