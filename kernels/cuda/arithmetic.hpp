#pragma once
// The precisions that a GPU supports, and environment variables that change the arithmetic.

#include <string>

#include "core/api/precision.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// The reason why a precision is unavailable with this value of NVIDIA_TF32_OVERRIDE (null: not
/// set), which can replace fp32 by tf32, or tf32 by fp32, whatever a program requests. "" if it
/// does not affect the precision.
std::string why_not_override(Precision precision, const char* value);

/// The reason why a precision is unavailable with these values of CUBLAS_EMULATE_SINGLE_PRECISION
/// and CUBLAS_EMULATE_DOUBLE_PRECISION (null: not set), which let cuBLAS compute fp32 from bf16
/// products, or fp64 from int8 ones. "" if they do not affect the precision.
std::string why_not_emulation(Precision precision, const char* fp32, const char* fp64);

/// The reason why the GPU or this process's environment does not provide this precision; "" if both
/// do.
std::string why_not_precision(Precision precision, const Facts& gpu);

}  // namespace assay::cuda
