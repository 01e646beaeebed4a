#pragma once
// An update of parameters as the options of a case describe it (docs/method-training.md), in fp64,
// with a bound on rounding errors. It shares no formula with the operation (kernels/update).

#include <cstdint>
#include <string>

#include "core/measure/case.hpp"

namespace assay {

struct ClaimedNumber {
  double value = 0, error = 0;
};

/// The known state of a parameter's tensor before the update.
struct ClaimedTensor {
  double decay = 0;                  ///< 0 for biases and normalizations
  double gradient = 0, weights = 0;  ///< norms
  double directions = 0;             ///< norm of lamb's, without the rate
  bool adapts = false;               ///< neither a bias nor a parameter of a normalization
};

struct ClaimedElement {
  ClaimedNumber velocity, second, weight;
};

class ClaimedUpdate {
 public:
  explicit ClaimedUpdate(const Settings& settings);

  const std::string& optimizer() const { return optimizer_; }
  bool has_second() const { return moments_ || rmsprop_; }
  bool reads_norms() const { return is_lamb() || optimizer_.starts_with("lar"); }
  bool is_lamb() const { return optimizer_ == "lamb"; }
  /// One element after update number `updates`. `u`: the roundoff; `of_norms`: the relative error
  /// of norms; `gradient` has an error of its own.
  ClaimedElement element(const ClaimedTensor& tensor, double rate, std::int64_t updates,
                         const ClaimedNumber& gradient, double weight, double velocity,
                         double second, double u, double of_norms) const;
  /// An element of lamb's direction; the norm of these is ClaimedTensor::directions.
  double direction(const ClaimedTensor& tensor, std::int64_t updates, double gradient,
                   double weight, double velocity, double second) const;

 private:
  std::string optimizer_;
  bool moments_, rmsprop_, clips_, decoupled_;
  double momentum_ = 0.9, trust_ = 1e-3;
  double beta1_, beta2_, alpha_, epsilon_;
};

}  // namespace assay
