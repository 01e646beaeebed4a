#pragma once
// A convolution in the form of cuDNN's descriptors. Needs the library, but no GPU.

#include <optional>
#include <string>
#include <vector>

#include "kernels/conv/problem.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/norm/problem.hpp"

namespace assay::cuda {

/// The layout of the tensors.
struct ConvForm {
  std::string layout;             ///< "nchw", "nhwc", or "nchw_vect_c4": channels in fours (int8)
  std::vector<TensorSpec> specs;  ///< of ConvProblem::tensors(), with the types and layouts of here
  CudnnArithmetic arithmetic;
  /// The normalization that follows; only a graph of the direction `forward` may have it. It adds
  /// the specs that normalized_parts names.
  std::optional<NormFusion> normalization{};
  /// Also the sums of a normalization in training; only a graph of the direction `forward` may have
  /// them. They add the specs that summed_parts names.
  bool sums = false;
};

/// Places of what a normalization reads, behind the three tensors of a convolution: [1, oc, 1, 1]
/// in the type of the sums, and with NormFusion::add_relu an addend that is as the output.
struct NormalizedParts {
  std::size_t mean, factor, shift, addend;
};
inline constexpr NormalizedParts normalized_parts{3, 4, 5, 6};
/// The form with such a normalization: dst = (sums - mean) factor + shift, with what `fusion` adds.
ConvForm add_normalization(ConvForm form, NormFusion fusion);

/// Places of the sums (kernels/norm/given_sums.hpp), [1, oc, 1, 1].
struct SummedParts {
  std::size_t sum, square_sum;
};
inline constexpr SummedParts summed_parts{3, 4};
ConvForm add_sums(ConvForm form);

/// The form of a problem in a layout ("any": the one that the precision's kernels are written for),
/// or why cuDNN cannot take it. A mixed precision is excluded: cuDNN's gradients of weights have
/// the type of its inputs.
Result<ConvForm> conv_form(const ConvProblem& problem, const std::string& layout);

/// The tensors of a form that are the input, the filter and the output of the convolution,
/// whichever of them is computed.
struct ConvParts {
  std::size_t x, w, y;
};
ConvParts conv_parts(ConvDirection direction);

/// The spatial axes of a shape, the depth first if it has one. A dilation of 1 is dense, as in
/// cuDNN.
struct ConvAxes {
  std::vector<std::int64_t> pads, strides, dilations;
};
ConvAxes conv_axes(const ConvShape& shape, bool deep);

/// [g, oc/g, ic/g, …] as one filter of [oc, ic/g, …]: the first two are next to each other.
std::vector<std::int64_t> filter_dims(const TensorSpec& filter);
/// The type in which cuDNN is asked to add.
cudnnDataType_t type_of_sums(Precision precision);

struct ConvDescriptors {
  ConvDescriptors(const ConvProblem& problem, const ConvForm& form);

  TensorDescriptor x, y;
  FilterDescriptor w;
  ConvolutionDescriptor convolution;
};

}  // namespace assay::cuda
