#pragma once
// Which precisions a GPU has, and what may change them behind a program's back.

#include <string>

#include "core/api/precision.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// Why a precision cannot be had under this value of NVIDIA_TF32_OVERRIDE (null: not set): it may
/// turn fp32 into tf32 behind every setting, or tf32 into fp32. "" where it does neither.
std::string why_not_override(Precision precision, const char* value);

/// Why the GPU, or this process's environment, has no such arithmetic; "" where both have it.
std::string why_not_precision(Precision precision, const Facts& gpu);

}  // namespace assay::cuda
