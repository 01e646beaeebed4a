#pragma once
// The range of losses of a known training. A training with losses outside it does not learn as it
// should.
//
// Bands are the last resort: oracles find all that one step, one batch or one validation can show.
// Bands alone find what leaves each compared number within its bound: roundings to 16 bits that
// always go the same way, errors of the size of a tolerance with one sign in every step, orders of
// samples that are permutations but not random (shuffled within a small window), and operations
// that are wrong only in steps without checks.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/case.hpp"
#include "models/network/convergence.hpp"

namespace assay {

/// The ranges of a configuration (results-schema/loss-bands/NAME.json), which scripts/loss-bands
/// makes from trainings with several seeds.
struct LossBand {
  std::string name;       ///< "learnable bf16"
  std::size_t seeds = 0;  ///< number of these trainings
  /// Lowest and highest loss after each epoch.
  std::vector<std::pair<double, double>> training, validation;
};

/// The band for a training with these settings; nothing if there is none. A file lists the settings
/// that do not affect what is learnt ("free"). All other settings must equal those of the file, and
/// settings that the file does not have must have their defaults. InputError for a file that cannot
/// be read.
std::optional<LossBand> loss_band(const Settings& settings,
                                  const std::vector<Dimension>& dimensions);

/// The range for the losses of n trainings after one epoch: 6 standard deviations of their
/// logarithms, times sqrt(1 + 1/n) for the uncertainty of the mean, on both sides of the mean. If
/// the logarithms are normal, with n = 10 one further training in 5000 is outside (Student's t with
/// 9 degrees of freedom).
std::pair<double, double> compute_band(const std::vector<double>& losses);

/// The reason with the first loss that is outside, or the first epoch between the first and the
/// last one that is missing or has no band; "" if there is none. Losses are of training and, where
/// an epoch was validated, of validation.
std::string outside(const LossBand& band, const std::vector<EpochResult>& epochs);

}  // namespace assay
