#pragma once
// The simplest correct training loop, in fp64, using only the settings of a case. It shares no code
// with the measured trainer (trainer.hpp) and its operations.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/measure/case.hpp"
#include "models/network/reference_pass.hpp"

namespace assay {

/// The training that the parameters of a row describe, as docs/training.md explains them.
struct ReferenceClaims {
  explicit ReferenceClaims(const Settings& settings);

  std::int64_t batch = 1, passes = 1, ranks = 1;
  std::string optimizer;  ///< "sgd", "larc-adam", …
  double beta1 = 0.9, beta2 = 0.999, alpha = 0.99, epsilon = 1e-8;
  double rate = 0, momentum = 0.9, decay = 1e-4, trust = 1e-3, smoothing = 0;
  bool lags = false;
};

/// Trains all ranks in one process.
class ReferenceTrainer {
 public:
  ReferenceTrainer(ReferenceNetwork network, const ReferenceClaims& claims,
                   const ReferenceStart& start);

  /// The batches of a step: [rank][pass]. Equal pointers are computed once,
  /// unless the network has dropout.
  void step(const std::vector<std::vector<const ReferenceBatch*>>& batches);

  const ReferenceClaims& claims() const { return claims_; }
  /// Equal on all ranks; empty before the first step.
  const ReferenceParameters& parameters() const { return parameters_; }
  /// Mean loss of the last step's images of a rank.
  double loss(std::size_t rank) const { return losses_.at(rank); }
  /// Moving averages of a rank's means and unbiased variances, by normalization.
  const std::map<std::string, ReferenceStatistics>& running(std::size_t rank) const {
    return running_.at(rank);
  }

 private:
  using Gradients = std::map<std::string, std::vector<double>>;

  void update(const Gradients& gradients);
  /// Updates by second moments; `g` does not yet contain the factor of LARC.
  void update_by_moments(const std::string& name, ReferenceParameter& parameter,
                         const std::vector<double>& g, double decay);

  ReferenceNetwork network_;
  ReferenceClaims claims_;
  ReferenceStart start_;
  ReferenceParameters parameters_;
  Gradients waiting_;  ///< with a lag
  Gradients second_;   ///< moments
  int updates_ = 0;
  std::int64_t steps_ = 0;
  std::vector<double> losses_;
  std::vector<std::map<std::string, ReferenceStatistics>> running_;
};

}  // namespace assay
