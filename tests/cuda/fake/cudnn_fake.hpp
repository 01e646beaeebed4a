#pragma once
// The common part of the fake cuDNN: faults by environment variables (cudnn.cpp has the list),
// elements of its types.
#include <cuda_fp16.h>
#include <cudnn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda/fake/tf32.hpp"

struct cudnnContext {};
struct cudnnTensorStruct {
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
  std::vector<int> dims;
};
namespace fake {

inline std::string last_error;

inline bool is(const char* variable, const std::string& name) {
  const char* const value = std::getenv(variable);
  return value != nullptr && name == value;
}

inline cudnnStatus_t refuse(const std::string& text, cudnnStatus_t status) {
  last_error = text;
  return status;
}

/// The algorithm that was started last.
inline std::string ran;

inline cudnnStatus_t starting(const std::string& name) {
  ran = name;
  if (is("FAKE_CUDNN_REFUSES_LATE", name))
    return refuse("fake: no " + name + " after all", CUDNN_STATUS_NOT_SUPPORTED);
  if (is("FAKE_CUDNN_FAILS", name))
    return refuse("fake: " + name + " broke", CUDNN_STATUS_EXECUTION_FAILED);
  return CUDNN_STATUS_SUCCESS;
}

inline double load(cudnnDataType_t type, const void* data, std::size_t i) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return static_cast<const float*>(data)[i];
    case CUDNN_DATA_DOUBLE:
      return static_cast<const double*>(data)[i];
    case CUDNN_DATA_HALF:
      return static_cast<double>(__half2float(static_cast<const __half*>(data)[i]));
    case CUDNN_DATA_BFLOAT16: {
      const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(data)[i]} << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_INT8x4:
      return static_cast<const std::int8_t*>(data)[i];
    default:
      std::abort();
  }
}

inline void store(cudnnDataType_t type, void* data, std::size_t i, double value) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case CUDNN_DATA_DOUBLE:
      static_cast<double*>(data)[i] = value;
      return;
    case CUDNN_DATA_HALF:
      static_cast<__half*>(data)[i] = __double2half(value);
      return;
    case CUDNN_DATA_BFLOAT16: {
      const auto single = static_cast<float>(value);
      std::uint32_t bits;
      std::memcpy(&bits, &single, sizeof bits);
      bits += 0x7fff + ((bits >> 16) & 1);
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(bits >> 16);
      return;
    }
    default:
      std::abort();
  }
}

inline std::size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

}  // namespace fake
