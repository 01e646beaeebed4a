#pragma once
// A convolution in the form of cuDNN's descriptors. Needs the library, but no GPU.

#include <optional>
#include <string>
#include <vector>

#include "kernels/conv/problem.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/norm/problem.hpp"

namespace assay::cuda {

struct ConvForm {
  std::string layout;             ///< "nchw", "nhwc", or "nchw_vect_c4": channels in fours (int8)
  std::vector<TensorSpec> specs;  ///< of ConvProblem::tensors(), with the types and layouts of this
                                  ///< form
  CudnnArithmetic arithmetic;
  /// The normalization that follows; only a graph of the direction `forward` may have it. It adds
  /// the specs that normalized_parts names.
  std::optional<NormFusion> normalization{};
  /// True if the graph also computes the sums of a normalization in training; only a graph of the
  /// direction `forward` may do that. They add the specs that summed_parts names.
  bool sums = false;
};

/// Indices of the tensors of a normalization, after the three tensors of a convolution. They are
/// [1, oc, 1, 1] in the type of the sums; with NormFusion::add_relu there is also an addend, which
/// is like the output.
struct NormalizedParts {
  std::size_t mean, factor, shift, addend;
};
inline constexpr NormalizedParts normalized_parts{3, 4, 5, 6};
/// The form with such a normalization: dst = (sums - mean) factor + shift, with the additions of
/// `fusion`.
ConvForm add_normalization(ConvForm form, NormFusion fusion);

/// Indices of the sums (kernels/norm/given_sums.hpp), [1, oc, 1, 1].
struct SummedParts {
  std::size_t sum, square_sum;
};
inline constexpr SummedParts summed_parts{3, 4};
ConvForm add_sums(ConvForm form);

/// The form of a problem in a layout ("any": the layout of the precision's kernels), or why cuDNN
/// does not support it. Mixed precisions are excluded, because cuDNN's gradients of weights have
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

/// [g, oc/g, ic/g, …] as one filter of [oc, ic/g, …], because the first two dimensions are
/// adjacent.
std::vector<std::int64_t> filter_dims(const TensorSpec& filter);
/// The type that cuDNN is requested to add in.
cudnnDataType_t type_of_sums(Precision precision);

struct ConvDescriptors {
  ConvDescriptors(const ConvProblem& problem, const ConvForm& form);

  TensorDescriptor x, y;
  FilterDescriptor w;
  ConvolutionDescriptor convolution;
};

}  // namespace assay::cuda
