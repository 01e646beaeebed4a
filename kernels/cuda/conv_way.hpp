#pragma once
// One settled way to compute a convolution.

#include <cudnn.h>

#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/kernel_names.hpp"

namespace assay::cuda {

/// An algorithm of cuDNN's older interface, or a plan of its graphs.
class ConvWay {
 public:
  virtual ~ConvWay() = default;
  /// The same way, with what the library has made for it, to be bound by another operation.
  virtual std::unique_ptr<ConvWay> again() const = 0;
  /// The following runs take these tensors, in the order of the form's specs.
  virtual void bind(void* const* tensors, void* workspace) = 0;
  /// Starts it on the device's stream.
  virtual cudnnStatus_t run() = 0;

  std::string implementation;  ///< the library's own name of it
  std::size_t workspace = 0;   ///< bytes
  /// The library's own description of the kernels; nothing if it has none.
  std::optional<KernelMeaning> meaning;
  int winograd_points = 0;        ///< of a transform in one dimension; 0: unknown
  bool nondeterministic = false;  ///< by the library: equal inputs may give other bits
};

}  // namespace assay::cuda
