#pragma once
// cuDNN: its errors, its descriptors, and the GPU with a handle.

#include <cudnn.h>

#include <string>

#include "core/api/precision.hpp"
#include "core/base/error.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// "cuDNN 9.19.0", of the library that is loaded.
std::string cudnn_library();
/// True if the status means that the library does not support the call; false if it failed.
bool not_supported(cudnnStatus_t status);
/// cuDNN's type of a tensor's elements; std::logic_error for u8 and s32.
cudnnDataType_t cudnn_type(DataType type);

/// The arithmetic that is requested from cuDNN, and its names in Execution (docs/method-conv.md).
struct CudnnArithmetic {
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::string compute, accumulate;
};
CudnnArithmetic choose_arithmetic(Precision precision);
/// "FMA_MATH"
const char* math_name(cudnnMathType_t math);

class CudnnError final : public CaseError {
 public:
  CudnnError(const std::string& what, cudnnStatus_t code);
  const cudnnStatus_t status;
  const std::string words;  ///< the library's own words about the status and (cuDNN 9) the last
                            ///< error

 private:
  CudnnError(const std::string& what, cudnnStatus_t code, const std::string& in_words);
};

/// Throws a CudnnError unless `status` is success.
void check(cudnnStatus_t status, const std::string& what);

/// One of cuDNN's objects.
template <class T, cudnnStatus_t (*create)(T*), cudnnStatus_t (*destroy)(T)>
class CudnnObject {
 public:
  CudnnObject() { check(create(&object_), "making a cuDNN descriptor"); }
  ~CudnnObject() {
    if (object_ != nullptr) destroy(object_);
  }
  CudnnObject(CudnnObject&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  CudnnObject& operator=(CudnnObject&&) = delete;
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};
using TensorDescriptor = CudnnObject<cudnnTensorDescriptor_t, &cudnnCreateTensorDescriptor,
                                     &cudnnDestroyTensorDescriptor>;
using FilterDescriptor = CudnnObject<cudnnFilterDescriptor_t, &cudnnCreateFilterDescriptor,
                                     &cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    CudnnObject<cudnnConvolutionDescriptor_t, &cudnnCreateConvolutionDescriptor,
                &cudnnDestroyConvolutionDescriptor>;

class CudnnDevice : public CudaDevice {
 public:
  CudnnDevice();
  ~CudnnDevice() override;
  CudnnDevice(const CudnnDevice&) = delete;
  CudnnDevice& operator=(const CudnnDevice&) = delete;
  cudnnHandle_t cudnn() const { return handle_; }
  /// The following calls of cuDNN go to this stream.
  void use(Stream& stream) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  mutable cudaStream_t used_ = nullptr;
};

}  // namespace assay::cuda
