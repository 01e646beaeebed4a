#pragma once
// Batch normalization (S. Ioffe and C. Szegedy, Batch Normalization, ICML 2015), with the addition
// and the rectifier that follow it in a residual network.
//
// For each channel c, over the m = mb * ih * iw elements of it:
//   mean = sum x / m,  variance = sum (x - mean)^2 / m,  inverse = 1 / sqrt(variance + epsilon)
//   y = scale (x - mean) inverse + shift
// fused none: dst = y; relu: dst = max(y, 0); add_relu: dst = max(y + addend, 0).
// Backward, with g = diff_dst, but 0 where a rectifier's dst is not above 0:
//   diff_shift = sum g,  diff_scale = sum g (x - mean) inverse,  diff_addend = g
//   diff_src = scale inverse (g - diff_shift / m - (x - mean) inverse diff_scale / m)
//
// Logical layouts (row-major): src, addend, dst and their gradients [mb, ic, ih, iw]; all others
// [ic], in fp32 for 16-bit activations. Tensor names:
//   forward_training   src, [addend], scale, shift -> dst, mean, variance
//   forward_inference  src, [addend], scale, shift, mean, variance -> dst
//   backward           src, [dst], diff_dst, scale, mean, variance
//                        -> diff_src, diff_scale, diff_shift, [diff_addend]
// addend and diff_addend exist for add_relu, the dst that is read for both rectifiers. So that a
// backward pass is a function of what it reads, mean, variance and dst are inputs of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/norm.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// PyTorch's default.
inline constexpr double norm_epsilon = 1e-5;

struct NormShape {
  std::int64_t mb = 0, ic = 0, ih = 0, iw = 0;
  bool operator==(const NormShape&) const = default;
  /// Elements of a channel.
  std::int64_t per_channel() const { return mb * ih * iw; }
};

/// "mb16ic64ih56" (width as height where it is left out), as benchdnn's. InputError names the
/// field: unknown, missing, twice, zero, negative, too large.
NormShape parse_norm(const std::string& descriptor);
/// The normalised descriptor: parse_norm(to_descriptor(s)) == s.
std::string to_descriptor(const NormShape& shape);

enum class NormDirection { forward_training, forward_inference, backward };
/// Names in the enumeration's order.
const std::vector<std::string>& norm_direction_names();
const std::string& name(NormDirection direction);
NormDirection norm_direction(const std::string& name);  ///< InputError for a name that is none

enum class NormFusion { none, relu, add_relu };
/// Names in the enumeration's order.
const std::vector<std::string>& norm_fusion_names();
const std::string& name(NormFusion fusion);
NormFusion norm_fusion(const std::string& name);  ///< InputError for a name that is none

class NormProblem final : public ProblemOf<NormProblem> {
 public:
  static constexpr const char* kind_name = "norm";
  static constexpr const char* kind_version = problem_version::norm;
  NormProblem(const NormShape& shape, NormDirection direction, NormFusion fusion,
              Precision precision)
      : shape_(shape), direction_(direction), fusion_(fusion), precision_(precision) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// 0: memory traffic is what this costs, and no count of its operations is common.
  double flops() const override { return 0; }
  /// Every input read once, every output written once.
  double bytes() const override;

  const NormShape& shape() const { return shape_; }
  NormDirection direction() const { return direction_; }
  NormFusion fusion() const { return fusion_; }
  Precision precision() const { return precision_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  NormShape shape_;
  NormDirection direction_;
  NormFusion fusion_;
  Precision precision_;
};

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const NormProblem& problem);

/// fp64 values of all outputs and their bounds (docs/method-norm.md).
std::unique_ptr<Oracle> norm_oracle(const NormProblem& problem);

}  // namespace assay
