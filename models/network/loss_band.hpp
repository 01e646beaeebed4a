#pragma once
// The range of losses of a known training. A training with losses outside this range does not learn
// correctly.
//
// Bands are the last resort: oracles find all errors that show in one step, one batch or one
// validation. Only bands find errors that leave each compared number within its bound: roundings to
// 16 bits that always go in the same direction, errors of the size of a tolerance with the same
// sign in every step, orders of samples that are permutations but not random (shuffled within a
// small window), and operations that are wrong only in steps without checks.

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
/// that do not affect learning ("free"). All other settings must equal those of the file, and
/// settings that the file lacks must have their defaults. InputError for a file that cannot be
/// read.
std::optional<LossBand> compute_loss_band(const Settings& settings,
                                          const std::vector<Dimension>& dimensions);

/// The range for a further training, from the losses of n trainings after one epoch: on both sides
/// of the mean of their logarithms, 6 standard deviations of these, times sqrt(1 + 1/n) for the
/// uncertainty of the mean. If the logarithms are normally distributed and n = 10, one further
/// training in 5000 is outside (Student's t with 9 degrees of freedom).
std::pair<double, double> compute_band(const std::vector<double>& losses);

/// A text about the first loss outside the band, or about the first epoch that is missing or has no
/// band; "" if there is none. Compares the losses of training and, in validated epochs, of
/// validation.
std::string outside(const LossBand& band, const std::vector<EpochResult>& epochs);

}  // namespace assay
