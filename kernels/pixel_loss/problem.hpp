#pragma once
// Softmax cross-entropy of every pixel of an image, weighted by class, as networks for segmentation
// use it (T. Kurth et al., Exascale Deep Learning for Climate Analytics, SC18, arXiv:1810.01993,
// section V-B), with its gradients, and the counts from which intersection over union is computed.
//
// For pixel p of sample n, with x = logits[n, :, p], label y = labels[n, p] in [0, classes):
//   q_c = exp(x_c) / sum_k exp(x_k)
//   losses[n] = sum_p class_weights[y] * -ln q_y, added in fp64
//   confusion[n, y, c] = the number of pixels with label y whose first largest logit is that of
//                        class c
//   diff_logits[n,c,p] = scale * class_weights[y] * (q_c - [c = y]) / samples
// `scale` is the loss scale of mixed-precision training. losses do not include it.
//
// Logical layouts (row-major) and types:
//   logits, diff_logits [samples, classes, ih, iw]        the type of the precision
//   class_weights [classes], losses [samples], scale [1]  fp32 (in fp64 problems fp64)
//   labels [samples, ih, iw], confusion [samples, classes, classes]  s32
// Tensor names:
//   training    logits, labels, class_weights, scale -> losses, confusion, diff_logits
//   validation  logits, labels, class_weights -> losses, confusion

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/pixel_loss.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class PixelLossPass { training, validation };
const std::string& name(PixelLossPass pass);

struct PixelLossShape {
  std::int64_t samples = 0, classes = 0, ih = 0, iw = 0;
  bool operator==(const PixelLossShape&) const = default;
};

class PixelLossProblem final : public ShapedProblem<PixelLossProblem, PixelLossShape> {
 public:
  static constexpr const char* kind_name = "pixel_loss";
  static constexpr const char* kind_version = problem_version::pixel_loss;
  /// InputError for extents below 1, more than 64 classes, or 2^31 pixels.
  PixelLossProblem(const PixelLossShape& shape, PixelLossPass pass, Precision precision);
  std::string canonical() const override;  ///< "mb2c3ih96iw144"
  nlohmann::json json() const override;

  PixelLossPass pass() const { return pass_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  PixelLossPass pass_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const PixelLossProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-training.md).
std::unique_ptr<Oracle> make_pixel_loss_oracle(const PixelLossProblem& problem);

}  // namespace assay
