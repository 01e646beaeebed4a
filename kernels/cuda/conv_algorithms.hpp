#pragma once
// cuDNN's algorithms under the names of the field: cuDNN's enumerators in lower case. The library
// has a set of functions for each direction; this interface covers all of them.

#include <string>
#include <vector>

#include "kernels/cuda/conv_form.hpp"

namespace assay::cuda {

/// Names of a direction's algorithms; the place in the list is the enumerator's value.
const std::vector<std::string>& list_algorithm_names(ConvDirection direction);
/// The names of all directions, each once.
std::vector<std::string> list_all_conv_algorithm_names();

/// True if, by cuDNN's documentation ("Reproducibility"), an algorithm adds by atomic operations,
/// in no fixed order.
bool adds_in_any_order(ConvDirection direction, int algorithm);

/// One algorithm as the library offers it.
struct ConvChoice {
  int algorithm = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::size_t workspace = 0;
};

/// The offers with the requested arithmetic and a workspace of at most `most_bytes`, in their
/// order.
std::vector<ConvChoice> fitting(const std::vector<ConvChoice>& offers, cudnnMathType_t wanted,
                                std::size_t most_bytes);

/// A convolution with its cuDNN descriptors.
class ConvCall {
 public:
  ConvCall(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form);

  /// The algorithms that the library proposes, the one it expects to be fastest first
  /// (cudnnGet…Algorithm_v7).
  std::vector<ConvChoice> offers() const;
  /// Bytes of workspace of an algorithm. Throws a CudnnError, also if the library does not support
  /// the algorithm.
  std::size_t workspace(int algorithm) const;
  /// Starts it on the device's stream. `tensors`: in the order of the form's specs.
  cudnnStatus_t run(int algorithm, void* const* tensors, void* workspace, std::size_t bytes) const;

 private:
  cudnnHandle_t handle_;
  ConvDirection direction_;
  ConvParts parts_;
  ConvDescriptors descriptors_;
  bool doubles_;  ///< scaling factors are fp64 for fp64 tensors, and fp32 for all others
};

}  // namespace assay::cuda
