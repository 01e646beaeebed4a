#pragma once
// Softmax cross-entropy with label smoothing (C. Szegedy et al., Rethinking the Inception
// Architecture for Computer Vision, CVPR 2016, section 7) and its gradients, in one pass. It also
// adds the bias of the last layer, if the shape has one.
//
// For sample n, with x = logits[n] + bias, label y = labels[n] in [0, classes), smoothing e:
//   p_c = exp(x_c) / sum_k exp(x_k),  q_c = (1 - e) [c = y] + e / classes
//   losses[n] = -sum_c q_c ln p_c
//   correct[n] = 1 if c = y is the first largest x_c, else 0
//   diff_logits[n,c] = scale (p_c - q_c) / samples
//   diff_bias[c] = sum_n diff_logits[n,c], of the values before they are rounded
// `scale` is the loss scale of mixed-precision training, which keeps small gradients from
// underflowing (P. Micikevicius et al., Mixed Precision Training, ICLR 2018). losses do not include
// it.
//
// Logical layouts (row-major) and types:
//   logits, diff_logits [samples, classes]                       the type of the precision
//   bias, diff_bias [classes], losses [samples], scale [1]       fp32 (in fp64 problems fp64)
//   labels, correct [samples]                                    s32
// Tensor names:
//   training    logits, [bias], labels, scale -> losses, correct, diff_logits, [diff_bias]
//   validation  logits, [bias], labels -> losses, correct

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/loss.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class LossPass { training, validation };
const std::string& name(LossPass pass);

struct LossShape {
  std::int64_t samples = 0, classes = 0;
  double smoothing = 0;  ///< e, in [0, 1)
  bool biased = true;    ///< logits have a bias
  bool operator==(const LossShape&) const = default;
};

class LossProblem final : public ShapedProblem<LossProblem, LossShape> {
 public:
  static constexpr const char* kind_name = "loss";
  static constexpr const char* kind_version = problem_version::loss;
  /// InputError for extents below 1, more than 2^30 classes, or a smoothing outside [0, 1).
  LossProblem(const LossShape& shape, LossPass pass, Precision precision);
  std::string canonical() const override;  ///< "mb16c1000ls0.1", or with "nobias"
  nlohmann::json json() const override;

  LossPass pass() const { return pass_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  LossPass pass_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const LossProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-training.md).
std::unique_ptr<Oracle> make_loss_oracle(const LossProblem& problem);

}  // namespace assay
