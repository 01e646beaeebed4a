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
  /// The same way for another operation to bind. It shares what the library has created.
  virtual std::unique_ptr<ConvWay> again() const = 0;
  /// The following runs take these tensors, in the order of the form's specs.
  virtual void bind(void* const* tensors, void* workspace) = 0;
  /// Starts it on the device's stream.
  virtual cudnnStatus_t run() = 0;

  std::string implementation;  ///< the library's own name
  std::size_t workspace = 0;   ///< bytes
  /// The library's own description of the kernels; nothing if it has none.
  std::optional<KernelMeaning> meaning;
  int winograd_points = 0;        ///< points of a transform in one dimension; 0: unknown
  bool nondeterministic = false;  ///< according to the library: equal inputs may give different
                                  ///< bits
};

}  // namespace assay::cuda
