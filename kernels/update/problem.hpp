#pragma once
// The update of a network's parameters by one of several optimizers. The tensors of all parameters
// are adjacent in memory and are updated in one pass.
//
// With G = unscale * gradient, w = weights, v = velocity, s = second, k = step, d = weight_decay
// for tensors that decay, else 0, and 2-norms over the elements of one tensor:
//   sgd     v = momentum v + G + d w,                          w = w - rate v
//   lars    v = momentum v + rate trust (G + d w),             w = w - v
//   larc    v = momentum v + min(trust / rate, 1) (G + d w),   w = w - rate v
//   adam    g = G + d w,  v = beta1 v + (1 - beta1) g,  s = beta2 s + (1 - beta2) g^2,
//           r = v / (1 - beta1^k) / (sqrt(s / (1 - beta2^k)) + epsilon),  w = w - rate r
//   adamw   as adam with g = G,                                w = w - rate (r + d w)
//   lamb    as adamw, but the rate is multiplied by ||w|| / ||r + d w||
//   rmsprop g = G + d w,  s = alpha s + (1 - alpha) g^2,
//           v = momentum v + g / (sqrt(s) + epsilon),          w = w - rate v
//   larc-adam, larc-rmsprop  with g = min(trust / rate, 1) (G + d w)
// where trust = coefficient ||w|| / (||G|| + d ||w||) for tensors that adapt and have norms above
// 0; for other tensors it is 1, as lamb's factor is (larc: the factor min(…) is 1). sgd, adam,
// adamw and rmsprop are those of PyTorch (torch.optim; rmsprop not centred). lars: Y. You, I.
// Gitman and B. Ginsburg, Large Batch Training of Convolutional Networks, arXiv:1708.03888; lamb:
// Y. You et al., Large Batch Optimization for Deep Learning, arXiv:1904.00962, algorithm 2, for the
// tensors that NVIDIA Apex's FusedLAMB adapts; larc: the clip mode of Apex's LARC, which moves the
// decay into the gradient: around adamw it would be larc-adam. If any element of gradient is not
// finite, nothing is updated.
//
// Logical layouts: gradient, weights, velocity, second [n], all in fp32 (in fp64 problems fp64);
// with 16-bit precisions the weights are the master copy. Tensor names:
//   gradient, rate [1], unscale [1], weights (in-out), velocity (in-out), second (in-out), step [1]
//     -> [stored [n]], norms [2], counts [3]
//   second   of adam, adamw, lamb, rmsprop and what contains them
//   step     the number of this update; of rules that correct their moments by it (not rmsprop)
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
#include "core/base/name_table.hpp"
#include "kernels/update/step.hpp"

namespace assay {

enum class UpdateRule { sgd, lars, larc, adam, adamw, rmsprop, lamb, larc_adam, larc_rmsprop };
const NameTable<UpdateRule>& get_name_table(UpdateRule);
UpdateLoop find_loop(UpdateRule rule);
bool is_larc(UpdateRule rule);      ///< clips its rate
bool needs_trust(UpdateRule rule);  ///< lars and larc: reads `coefficient`

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
  double beta1 = 0.9, beta2 = 0.999, alpha = 0.99, epsilon = 1e-8;
  bool operator==(const UpdateShape&) const = default;
  std::int64_t elements() const;
};

class UpdateProblem final : public ShapedProblem<UpdateProblem, UpdateShape> {
 public:
  static constexpr const char* kind_name = "update";
  static constexpr const char* kind_version = problem_version::update;
  /// InputError for no tensors, empty ones, or factors that are negative or not finite;
  /// betas and alpha are below 1, and epsilon is at least 1e-30.
  UpdateProblem(UpdateShape shape, Precision precision);
  /// "lars_n25557032t161m0.9wd0.0001c0.001", "adam_n25557032t161m0.9s0.999eps1e-08wd0.0001"
  std::string canonical() const override;
  nlohmann::json json() const override;
  /// Each input read once, each output written once.
  double bytes() const override;

  /// They are in the order above.
  std::vector<TensorSpec> tensors() const;
};

/// The factors of one tensor. `g`, `w`: the tensor's norms ||g|| and ||w||. For lamb, of_velocity
/// does not include lamb_trust().
UpdateStep<double> update_factors(const UpdateShape& shape, const UpdateTensor& tensor, double rate,
                                  double unscale, double g, double w, double step = 1);
/// The factor of lamb's rate. `r`: the norm ||r||, with the r of UpdateLoop::moments.
double lamb_trust(const UpdateTensor& tensor, double w, double r);

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const UpdateProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-training.md).
std::unique_ptr<Oracle> make_update_oracle(const UpdateProblem& problem);

}  // namespace assay
