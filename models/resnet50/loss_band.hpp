#pragma once
// The losses that a known training has: what is outside them was not learnt as it should be.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/case.hpp"
#include "models/network/convergence.hpp"

namespace assay {

/// Of a configuration whose losses are kept (results-schema/loss-bands/NAME.json, which
/// scripts/loss-bands makes of trainings with several seeds).
struct LossBand {
  std::string name;       ///< "learnable bf16"
  std::size_t seeds = 0;  ///< trainings that it is made of
  /// Lowest and highest loss after each epoch.
  std::vector<std::pair<double, double>> training, validation;
};

/// The band of a training with these settings; nothing where none is kept. A file says which
/// settings change nothing of what is learnt ("free"); all others must be those of the file, and
/// those that it does not name must have their defaults.
/// InputError: a file that cannot be read.
std::optional<LossBand> loss_band(const Settings& settings,
                                  const std::vector<Dimension>& dimensions);

/// Of losses that `trainings` have had after one epoch. Their logarithms are taken as normal: 6
/// standard deviations about the mean, which is itself known from n of them: √(1 + 1/n). Of 10
/// trainings one further in 5000 is outside (Student's t of 9 degrees of freedom).
std::pair<double, double> band_of(const std::vector<double>& losses);

/// The first loss that is outside, as a reason; "" where all are inside.
std::string outside(const LossBand& band, const std::vector<EpochResult>& epochs);

}  // namespace assay
