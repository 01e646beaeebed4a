#pragma once
// Comparisons of timed runs with equal runs that are checked, where operations add in no fixed
// order.

#include <functional>
#include <string>
#include <vector>

#include "models/network/trainer.hpp"

namespace assay {

/// The difference with the largest ratio to its tolerance, or the first that is not a number.
Trainer::Difference worst(const std::vector<Trainer::Difference>& differences);

/// True if one of `differences` is larger than is allowed, and allow_spread() may explain it:
/// products have 16-bit operands. A sum in another order differs by a rounding of fp32, which turns
/// a few roundings to 16 bits, and all layers after these show them.
bool may_spread(Precision precision, const std::vector<Trainer::Difference>& differences);

/// Adds to what is allowed of each of `differences`, between a timed run and the same run with
/// checks, 4 times the most by which 8 further runs with checks differ from the first one; at most
/// what the network may differ from fp64. Nothing is added for a backend that adds in a fixed
/// order, because its equal runs have equal bits. `repeat` makes such a run and returns its
/// differences, in the order of `differences`. Its argument is true once: that run must compare
/// every operation with its oracle, since a wrong operation may differ from run to run as well.
/// Returns the largest difference between equal runs.
double allow_spread(const TrainerSettings& settings,
                    const std::function<std::vector<Trainer::Difference>(bool every)>& repeat,
                    std::vector<Trainer::Difference>& differences);

}  // namespace assay
