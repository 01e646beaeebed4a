#pragma once
// The update of a network's parameters by stochastic gradient descent with momentum. The tensors of
// all parameters are adjacent in memory and are updated in one pass.
//
// With g = unscale * gradient, w = weights, v = velocity, d = weight_decay for tensors that decay,
// else 0, and 2-norms over the elements of one tensor:
//   sgd   v = momentum v + g + d w,                      w = w - rate v
//   lars  v = momentum v + rate trust (g + d w),         w = w - v
//   larc  v = momentum v + min(trust / rate, 1) (g + d w), w = w - rate v
// where trust = coefficient ||w|| / (||g|| + d ||w||) for tensors that adapt and have norms above
// 0; for other tensors it is 1 (larc: the factor min(…) is 1). sgd is that of PyTorch; lars: Y.
// You, I. Gitman and B. Ginsburg, Large Batch Training of Convolutional Networks, arXiv:1708.03888;
// larc: its clipped form in NVIDIA Apex. If any element of gradient is not finite, nothing is
// updated.
//
// Logical layouts: gradient, weights, velocity [n], all in fp32 (in fp64 problems fp64); with
// 16-bit precisions the weights are the master copy. Tensor names:
//   gradient, rate [1], unscale [1], weights (in-out), velocity (in-out)
//     -> [stored [n]], norms [2], counts [3]
//   stored   the new weights, rounded; only with 16-bit precisions
//   norms    fp64, over all tensors: ||unscale * gradient||, ||weights before the update||
//   counts   fp64: elements of gradient that are not finite, elements of gradient that are 0, and
//            stale weights, which did not change although their update is not 0

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
/// Names of the enumerators, in their order.
const std::vector<std::string>& update_rule_names();
const std::string& name(UpdateRule rule);
UpdateRule update_rule(const std::string& name);  ///< InputError for an unknown name

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
  /// 0: memory traffic bounds it.
  double flops() const override { return 0; }
  /// Each input read once, each output written once.
  double bytes() const override;

  const UpdateShape& shape() const { return shape_; }
  Precision precision() const { return precision_; }
  /// In the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  UpdateShape shape_;
  Precision precision_;
};

/// The factors of a rule for one tensor: v = momentum v + of_gradient * gradient + of_weight * w,
/// w = w - of_velocity * v. `g`, `w`: the tensor's norms ||g|| and ||w||.
struct UpdateFactors {
  double of_gradient, of_weight, of_velocity;
};
UpdateFactors update_factors(const UpdateShape& shape, const UpdateTensor& tensor, double rate,
                             double unscale, double g, double w);

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const UpdateProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-training.md).
std::unique_ptr<Oracle> update_oracle(const UpdateProblem& problem);

}  // namespace assay
