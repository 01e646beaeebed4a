#pragma once
// Gradients of weights in fp32 from 16-bit activations and gradients. cuDNN does not support them.

#include <memory>

#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::cuda {

/// `inner` computes the gradient of the weights of the (mixed) problem from fp32 inputs. Every run
/// first converts the 16-bit inputs to these.
std::unique_ptr<Operation> with_wide_inputs(const ConvProblem& problem,
                                            std::unique_ptr<Operation> inner);

}  // namespace assay::cuda
