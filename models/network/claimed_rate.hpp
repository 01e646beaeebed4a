#pragma once
// The learning rate that the parameters of a row claim.

#include <cstdint>
#include <vector>

#include "core/measure/case.hpp"

namespace assay {

/// Computes the rates from the texts of a case alone. It shares no code with RateSchedule,
/// scale_rate() and parse_decay(), so it finds a training that uses another rate than its
/// parameters say.
class ClaimedRate {
 public:
  /// `steps_of_epoch` may be 0 if only constant() is needed. CaseError for a schedule that no
  /// option can give.
  ClaimedRate(const Settings& settings, std::int64_t steps_of_epoch);

  /// The rate of steps without a schedule, such as the timed steps.
  double constant() const { return peak_; }
  /// The rate of a step of the training, counted from 0 over all epochs.
  double at(std::int64_t step) const;
  /// True if `rate` equals `claimed` up to rounding. Each takes fewer than 100 roundings, including
  /// the C library's cos and pow.
  static bool agrees(double rate, double claimed);

 private:
  enum class Form { flat, stairs, half_wave, power };

  double peak_ = 0;
  double rising_ = 0;  ///< steps of the warm-up
  double length_ = 0;  ///< steps of the training
  Form form_ = Form::flat;
  double factor_ = 1, exponent_ = 1, floor_ = 0;
  std::vector<double> stairs_;  ///< first steps with a lower rate
};

}  // namespace assay
