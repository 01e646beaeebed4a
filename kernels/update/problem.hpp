#pragma once
// The update of a network's parameters by stochastic gradient descent with momentum, all tensors in
// one pass, which lie side by side.
//
// With g = unscale * gradient, d = weight_decay for tensors that decay, else 0, and the norms of a
// tensor's own elements:
//   sgd   v = momentum v + g + d w,                      w = w - rate v
//   lars  v = momentum v + rate trust (g + d w),         w = w - v
//   larc  v = momentum v + min(trust / rate, 1) (g + d w), w = w - rate v
// where trust = coefficient ||w|| / (||g|| + d ||w||) for tensors that adapt and whose norms are
// above 0, else 1 (larc: no limit). sgd is PyTorch's; lars: Y. You, I. Gitman and B. Ginsburg,
// Large Batch Training of Convolutional Networks, arXiv:1708.03888; larc: its clipped form in
// NVIDIA Apex. If any element of gradient is not finite, nothing is updated.
//
// Logical layouts: gradient, weights, velocity [n], all in fp32 (fp64 for fp64): master copies
// where activations have 16 bits. Tensor names:
//   gradient, rate [1], unscale [1], weights (in-out), velocity (in-out)
//     -> [stored [n]], norms [2] = {||unscale gradient||, ||weights before||} of all tensors,
//        counts [3] = {elements of gradient that are not finite, those that are 0, stale weights}
// norms and counts are fp64. stored exists for 16-bit precisions: the new weights, rounded. A
// weight is stale that is as before although its update is not 0.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/update.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class UpdateRule { sgd, lars, larc };
/// Names in the enumeration's order.
const std::vector<std::string>& update_rule_names();
const std::string& name(UpdateRule rule);
UpdateRule update_rule(const std::string& name);  ///< InputError for a name that is none

/// One tensor of parameters. Biases and the parameters of normalization neither decay nor adapt.
struct UpdateTensor {
  std::int64_t elements = 0;
  bool decays = true, adapts = true;
  bool operator==(const UpdateTensor&) const = default;
};

struct UpdateShape {
  UpdateRule rule = UpdateRule::sgd;
  double momentum = 0.9, weight_decay = 1e-4, coefficient = 1e-3;
  std::vector<UpdateTensor> tensors;
  bool operator==(const UpdateShape&) const = default;
  std::int64_t elements() const;
};

class UpdateProblem final : public ProblemOf<UpdateProblem> {
 public:
  static constexpr const char* kind_name = "update";
  static constexpr const char* kind_version = problem_version::update;
  /// InputError for no tensors, empty ones, or factors that are negative or not finite.
  UpdateProblem(UpdateShape shape, Precision precision);
  std::string canonical() const override;  ///< "lars_n25557032t161m0.9wd0.0001c0.001"
  nlohmann::json json() const override;
  /// 0: memory traffic is what this costs.
  double flops() const override { return 0; }
  /// Every input read once, every output written once.
  double bytes() const override;

  const UpdateShape& shape() const { return shape_; }
  Precision precision() const { return precision_; }
  /// In the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  UpdateShape shape_;
  Precision precision_;
};

/// What a rule makes of one tensor: v = momentum v + of_gradient g + of_weight w,
/// w = w - of_velocity v. `g`, `w`: norms.
struct UpdateFactors {
  double of_gradient, of_weight, of_velocity;
};
UpdateFactors update_factors(const UpdateShape& shape, const UpdateTensor& tensor, double rate,
                             double unscale, double g, double w);

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const UpdateProblem& problem);

/// fp64 values of all outputs and their bounds (docs/method-training.md).
std::unique_ptr<Oracle> update_oracle(const UpdateProblem& problem);

}  // namespace assay
