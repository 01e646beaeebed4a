#pragma once
// Validation of a fitted model: observations are left out of the fit, then predicted.

#include <nlohmann/json.hpp>

#include "analysis/model/fitted_model.hpp"

namespace assay {

/// Leaves out each machine in turn (by system, else architecture, else host), then the largest
/// problem (by size, else flops, else bytes), fits the rest, and compares the predictions with the
/// observations that were left out.
nlohmann::json validation_of(const FittedModel& model);

}  // namespace assay
