#pragma once
// An activation function, after the bias of the layer before it.
//
//   forward   dst[n,c,y,x] = f(z), z = src[n,c,y,x] + bias[c]
//   backward  diff_src = diff_dst f'(z), diff_bias[c] = the sum of diff_src over n, y and x, of the
//             values before they are rounded
// with f(z) = z (identity), max(z, 0) (relu), 1 / (1 + exp(-z)) (sigmoid), tanh z (tanh) or z (1 +
// erf(z / sqrt 2)) / 2 (gelu: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units,
// arXiv:1606.08415; PyTorch's default) or -ln(1 + exp(-z)) (log_sigmoid). Four derivatives are
// computed from dst, so that src need not be saved: 1 where dst > 0, else 0 (relu), dst (1 - dst)
// (sigmoid), 1 - dst^2 (tanh), 1 - exp(dst) (log_sigmoid).
//
// Logical layouts (row-major): src, dst and their gradients are [mb, ic, ih, iw] in the type of the
// precision; bias and diff_bias are [ic], in fp32 for 16-bit precisions. A dense layer has ih = iw
// = 1. Tensor names, those in brackets with a bias alone:
//   forward                        src, [bias] -> dst
//   backward, gelu                 src, [bias], diff_dst -> diff_src, [diff_bias]
//   backward, identity             diff_dst -> diff_bias (diff_src is diff_dst)
//   backward, others               dst, diff_dst -> diff_src, [diff_bias]

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/activation.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"
#include "kernels/activation/function.hpp"

namespace assay {

struct ActivationShape {
  std::int64_t mb = 0, ic = 0, ih = 1, iw = 1;
  bool operator==(const ActivationShape&) const = default;
  std::int64_t elements() const { return mb * ic * ih * iw; }
};

/// Parses "mb16ic64ih56", or "mb100ic2000" for a dense layer; a missing width equals the height.
/// InputError names the field that is unknown, missing, given twice, zero, negative or too large.
ActivationShape parse_activation(const std::string& descriptor);
/// The normalised descriptor: parse_activation(to_descriptor(s)) == s.
std::string to_descriptor(const ActivationShape& shape);

enum class ActivationDirection { forward, backward };
const NameTable<ActivationDirection>& get_name_table(ActivationDirection);
const NameTable<ActivationFunction>& get_name_table(ActivationFunction);

class ActivationProblem final : public ShapedProblem<ActivationProblem, ActivationShape> {
 public:
  static constexpr const char* kind_name = "activation";
  static constexpr const char* kind_version = problem_version::activation;
  ActivationProblem(const ActivationShape& shape, ActivationDirection direction,
                    ActivationFunction function, bool bias, Precision precision)
      : ShapedProblem(shape, precision), direction_(direction), function_(function), bias_(bias) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  ActivationDirection direction() const { return direction_; }
  bool backward() const { return direction_ == ActivationDirection::backward; }
  ActivationFunction function() const { return function_; }
  bool bias() const { return bias_; }
  /// The tensor from which the derivative is computed; null if the derivative is 1.
  const char* of_derivative() const;
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  ActivationDirection direction_;
  ActivationFunction function_;
  bool bias_;
};

/// The reason why this problem does not exist, in its precision or at all; nothing if it does.
std::optional<std::string> why_not_precision(const ActivationProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (kernels/activation/formula_items.hpp).
std::unique_ptr<Oracle> make_activation_oracle(const ActivationProblem& problem);

}  // namespace assay
