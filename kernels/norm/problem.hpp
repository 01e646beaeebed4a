#pragma once
// Batch normalization (S. Ioffe and C. Szegedy, Batch Normalization, ICML 2015), optionally fused
// with the addition and the rectifier (ReLU) that follow it in a residual network.
//
// For each channel, with sums over its m = mb * ih * iw elements x of src:
//   mean = sum x / m,  variance = sum (x - mean)^2 / m,  inverse = 1 / sqrt(variance + epsilon)
//   y = scale (x - mean) inverse + shift
//   dst = y (fusion none), max(y, 0) (relu), or max(y + addend, 0) (add_relu)
// Backward, with g = diff_dst; with a rectifier, g = 0 where dst is 0:
//   diff_shift = sum g,  diff_scale = sum g (x - mean) inverse,  diff_addend = g
//   diff_src = scale inverse (g - diff_shift / m - (x - mean) inverse diff_scale / m)
//
// Logical layouts (row-major): src, addend, dst and their gradients are [mb, ic, ih, iw] in the
// type of the precision. All other tensors are [ic], in fp32 for 16-bit precisions. Tensor names:
//   forward_training   src, [addend], scale, shift -> dst, mean, variance
//   forward_inference  src, [addend], scale, shift, mean, variance -> dst
//   backward           src, [dst], diff_dst, scale, mean, variance
//                        -> diff_src, diff_scale, diff_shift, [diff_addend]
// addend and diff_addend exist with add_relu, the input dst of backward with relu and add_relu.
// mean, variance and dst are inputs of the backward pass, so that its results depend on its inputs
// alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/norm.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

/// epsilon above; PyTorch's default.
inline constexpr double norm_epsilon = 1e-5;

struct NormShape {
  std::int64_t mb = 0, ic = 0, ih = 0, iw = 0;
  bool operator==(const NormShape&) const = default;
  /// Number of elements of a channel.
  std::int64_t per_channel() const { return mb * ih * iw; }
};

/// Parses "mb16ic64ih56", as benchdnn does; a missing width equals the height. InputError names the
/// field that is unknown, missing, given twice, zero, negative or too large.
NormShape parse_norm(const std::string& descriptor);
/// The normalised descriptor: parse_norm(to_descriptor(s)) == s.
std::string to_descriptor(const NormShape& shape);

enum class NormDirection { forward_training, forward_inference, backward };
const NameTable<NormDirection>& get_name_table(NormDirection);

enum class NormFusion { none, relu, add_relu };
const NameTable<NormFusion>& get_name_table(NormFusion);

class NormProblem final : public ShapedProblem<NormProblem, NormShape> {
 public:
  static constexpr const char* kind_name = "norm";
  static constexpr const char* kind_version = problem_version::norm;
  NormProblem(const NormShape& shape, NormDirection direction, NormFusion fusion,
              Precision precision)
      : ShapedProblem(shape, precision), direction_(direction), fusion_(fusion) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  NormDirection direction() const { return direction_; }
  NormFusion fusion() const { return fusion_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  NormDirection direction_;
  NormFusion fusion_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const NormProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-norm.md).
std::unique_ptr<Oracle> make_norm_oracle(const NormProblem& problem);

}  // namespace assay
