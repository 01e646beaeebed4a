#pragma once
// Matrix multiplication by cuBLASLt, for every problem that consists of it.

#include "kernels/gemm/problem.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// The product, with its algorithm settled and its arithmetic proven by a run; or why there is
/// none.
Result<std::unique_ptr<Operation>> make_product(CudaDevice& device, const GemmProblem& problem);

}  // namespace assay::cuda
