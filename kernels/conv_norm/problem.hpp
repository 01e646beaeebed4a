#pragma once
// A convolution with the batch normalization, addition and rectifier that follow it, as inference
// computes them in one pass:
//   dst = forward_inference of kernels/norm/problem.hpp, applied to the convolution's output
// The convolution's output is not stored. Logical layouts: as in these two problems. Tensor names:
//   src, weights, [addend], scale, shift, mean, variance -> dst

#include <memory>
#include <string>
#include <vector>

#include "assay/problem_version/conv_norm.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

class ConvNormProblem final : public ProblemOf<ConvNormProblem> {
 public:
  static constexpr const char* kind_name = "conv_norm";
  static constexpr const char* kind_version = problem_version::conv_norm;
  /// A ConvProblem in the direction `forward`, and a NormProblem in the direction
  /// `forward_inference` that takes its output; std::logic_error for other problems.
  ConvNormProblem(std::shared_ptr<const Problem> convolution,
                  std::shared_ptr<const Problem> normalization);
  std::string canonical() const override;  ///< the convolution's, and "_relu" or "_add_relu"
  nlohmann::json json() const override;    ///< the convolution's
  double flops() const override { return conv_->flops(); }  ///< of the convolution
  double bytes() const override { return bytes_of_tensors(); }

  /// The parts, each with the version of its own header.
  const Problem& convolution() const { return *conv_; }
  const Problem& normalization() const { return *norm_; }
  /// Inputs, then the output, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  std::shared_ptr<const Problem> conv_, norm_;
};

/// Expected values and bounds. Elements are chosen as for a convolution. The bound is that of the
/// two parts, computed one after the other (docs/gpu.md).
std::unique_ptr<Oracle> make_conv_norm_oracle(const ConvNormProblem& problem);

}  // namespace assay
