#include "kernels/cuda/arithmetic.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace assay::cuda {
namespace {

bool is_given(const char* value) { return value != nullptr && *value != '\0'; }

}  // namespace

std::string why_not_override(Precision precision, const char* value) {
  if (!is_given(value)) return "";
  const bool forbidden = std::strcmp(value, "0") == 0;
  if (precision == Precision::tf32 && forbidden)
    return "tf32 is forbidden by NVIDIA_TF32_OVERRIDE=0 (fp32 would run under its name). Unset it.";
  if (precision == Precision::fp32 && !forbidden)
    return fmt::format(
        "NVIDIA_TF32_OVERRIDE={} may compute fp32 in tf32 (whatever cuDNN is asked for). Unset it, "
        "or use --precision tf32.",
        value);
  return "";
}

std::string why_not_emulation(Precision precision, const char* fp32, const char* fp64) {
  const bool single = precision == Precision::fp32;
  const char* const value = single ? fp32 : fp64;
  if ((!single && precision != Precision::fp64) || !is_given(value) || std::strcmp(value, "0") == 0)
    return "";
  return fmt::format(
      "CUBLAS_EMULATE_{}_PRECISION={} may compute {} from products of narrower types (whatever "
      "cuBLAS is asked for). Unset it.",
      single ? "SINGLE" : "DOUBLE", value, name(precision));
}

std::string why_not_precision(Precision precision, const Facts& gpu) {
  // CUDA C++ Programming Guide, "Warp Matrix Functions": tf32 and bf16 since 8.0. On older GPUs
  // libraries would accept the tensors, and compute in fp32.
  if ((precision == Precision::tf32 || precision == Precision::bf16) && gpu.major < 8)
    return fmt::format("{} has no {} (compute capability {}.{}, it came with 8.0)", gpu.name,
                       name(precision), gpu.major, gpu.minor);
  // cuBLAS documentation, "cublasLtMatmul": 8-bit floating types since 8.9.
  if (is_fp8(precision) && (gpu.major < 8 || (gpu.major == 8 && gpu.minor < 9)))
    return fmt::format("{} has no {} (compute capability {}.{}, it came with 8.9)", gpu.name,
                       name(precision), gpu.major, gpu.minor);
  std::string why = why_not_override(precision, std::getenv("NVIDIA_TF32_OVERRIDE"));
  if (why.empty())
    why = why_not_emulation(precision, std::getenv("CUBLAS_EMULATE_SINGLE_PRECISION"),
                            std::getenv("CUBLAS_EMULATE_DOUBLE_PRECISION"));
  return why;
}

}  // namespace assay::cuda
