#pragma once
// Comparisons of timed runs with equal checked runs, if operations add in no fixed order.

#include <functional>
#include <string>
#include <vector>

#include "models/network/trainer.hpp"

namespace assay {

/// The difference with the largest ratio to its tolerance, or the first that is not a number.
Trainer::Difference worst(const std::vector<Trainer::Difference>& differences);

/// True if one of `differences` is larger than allowed, but allow_spread() may explain it: products
/// have 16-bit operands. A sum in another order differs by a rounding of fp32. This changes the
/// direction of a few roundings to 16 bits, and all later layers amplify these changes.
bool may_spread(Precision precision, const std::vector<Trainer::Difference>& differences);

/// `differences`: between a timed run and the same run with checks. Raises the allowed value of
/// each to 4 times the largest difference of 8 further checked runs from the first checked run, but
/// at most to the difference from fp64 that the network may have. Changes nothing for a backend
/// that adds in a fixed order, because its equal runs have equal bits. `repeat` makes such a run
/// and returns its differences, in the order of `differences`. Its argument is true once: that run
/// must compare every operation with its oracle, since results of a wrong operation may also vary
/// between runs. Returns the largest difference between equal runs.
double allow_spread(const TrainerSettings& settings,
                    const std::function<std::vector<Trainer::Difference>(bool every)>& repeat,
                    std::vector<Trainer::Difference>& differences);

}  // namespace assay
