#pragma once
// The squared error of outputs and its gradients, as networks that reconstruct their input use it,
// with the correlation of each sample.
//
// For sample n, with x = outputs[n] and t = targets[n], and means over the features:
//   losses[n] = mean (x - t)^2
//   correlations[n] = sum dx dt / sqrt(sum dx^2 sum dt^2), with dx = x - mean x, dt = t - mean t
//                     (Pearson's); 0 if all x or all t are equal
//   diff_outputs[n,f] = scale * 2 (x_f - t_f) / (features * samples)
// The sums are added in fp64. `scale` is the loss scale of mixed-precision training. losses do not
// include it.
//
// Logical layouts (row-major) and types:
//   outputs, targets, diff_outputs [samples, features]  the type of the precision
//   losses, correlations [samples], scale [1]           fp32 (in fp64 problems fp64)
// Tensor names:
//   training    outputs, targets, scale -> losses, correlations, diff_outputs
//   validation  outputs, targets -> losses, correlations

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/squared_error.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class SquaredErrorPass { training, validation };
const std::string& name(SquaredErrorPass pass);

struct SquaredErrorShape {
  std::int64_t samples = 0, features = 0;
  bool operator==(const SquaredErrorShape&) const = default;
};

class SquaredErrorProblem final : public ShapedProblem<SquaredErrorProblem, SquaredErrorShape> {
 public:
  static constexpr const char* kind_name = "squared_error";
  static constexpr const char* kind_version = problem_version::squared_error;
  /// InputError for extents below 1, or 2^40 elements.
  SquaredErrorProblem(const SquaredErrorShape& shape, SquaredErrorPass pass, Precision precision);
  std::string canonical() const override;  ///< "mb100f60483"
  nlohmann::json json() const override;

  SquaredErrorPass pass() const { return pass_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  SquaredErrorPass pass_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const SquaredErrorProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-training.md).
std::unique_ptr<Oracle> make_squared_error_oracle(const SquaredErrorProblem& problem);

}  // namespace assay
