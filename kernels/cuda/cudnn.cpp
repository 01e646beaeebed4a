#include "kernels/cuda/cudnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "support/cuda/error.hpp"

namespace assay::cuda {

std::string cudnn_library() {
  const std::size_t version = cudnnGetVersion();
  // Since version 9 the major version has another factor.
  const std::size_t major = version >= 90000 ? version / 10000 : version / 1000;
  const std::size_t rest = version - major * (version >= 90000 ? 10000 : 1000);
  return fmt::format("cuDNN {}.{}.{}", major, rest / 100, rest % 100);
}

bool not_supported(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;  // a family of reasons
#else
  return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

cudnnDataType_t cudnn_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return CUDNN_DATA_DOUBLE;
    case DataType::fp32:
      return CUDNN_DATA_FLOAT;
    case DataType::fp16:
      return CUDNN_DATA_HALF;
    case DataType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::s8:
      return CUDNN_DATA_INT8;
    case DataType::s32:
    case DataType::u8:
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
      break;
  }
  throw std::logic_error("no tensor of cuDNN's has this type");
}

CudnnArithmetic choose_arithmetic(Precision precision) {
  const std::string compute(name(precision));
  switch (precision) {
    case Precision::fp32:
      return {CUDNN_FMA_MATH, compute, compute};
    case Precision::fp64:
      return {CUDNN_DEFAULT_MATH, compute, compute};
    case Precision::int8:
      return {CUDNN_TENSOR_OP_MATH, compute, "s32"};
    default:  // of tensor cores: kernels/oracle/sums.hpp
      return {CUDNN_TENSOR_OP_MATH, compute, "fp32_rz"};
  }
}

const char* math_name(cudnnMathType_t math) {
  return math == CUDNN_FMA_MATH         ? "FMA_MATH"
         : math == CUDNN_TENSOR_OP_MATH ? "TENSOR_OP_MATH"
                                        : "DEFAULT_MATH";
}

namespace {

/// Call it once for each error: cuDNN forgets the last error after reporting it.
std::string library_words(cudnnStatus_t status) {
  std::string text =
      fmt::format("{}, status {}", cudnnGetErrorString(status), static_cast<int>(status));
#if CUDNN_MAJOR >= 9
  char last[1024] = "";
  cudnnGetLastErrorString(last, sizeof last);
  last[sizeof last - 1] = '\0';
  if (*last != '\0') text += fmt::format(", \"{}\"", last);
#endif
  std::replace(text.begin(), text.end(), '\n', ' ');  // a reason is one line
  return text;
}

std::string describe_failure(const std::string& what, const std::string& in_words) {
  const std::string runtime = pending();  // the underlying error, and whether it is permanent
  return fmt::format("{} failed ({}: {}{})", what, cudnn_library(), in_words,
                     runtime.empty() ? "" : fmt::format("; CUDA: {}", runtime));
}

}  // namespace

CudnnError::CudnnError(const std::string& what, cudnnStatus_t code)
    : CudnnError(what, code, library_words(code)) {}

CudnnError::CudnnError(const std::string& what, cudnnStatus_t code, const std::string& in_words)
    : CaseError(describe_failure(what, in_words)), status(code), words(in_words) {}

void check(cudnnStatus_t status, const std::string& what) {
  if (status != CUDNN_STATUS_SUCCESS) throw CudnnError(what, status);
}

CudnnDevice::CudnnDevice() {
  check(cudnnCreate(&handle_), "starting cuDNN");
  use(stream());
}

void CudnnDevice::use(Stream& stream) const {
  const cudaStream_t wanted = cuda_stream(stream);
  if (wanted == used_) return;
  check(cudnnSetStream(handle_, wanted), "giving cuDNN a stream");
  used_ = wanted;
}

CudnnDevice::~CudnnDevice() { cudnnDestroy(handle_); }

}  // namespace assay::cuda
