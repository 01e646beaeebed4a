#pragma once
// Formulas of a training to an accuracy.

#include "core/result/formula.hpp"

namespace assay::formula {

/// Checks the metrics and epochs of a training against its parameters and its time stamps.
/// `images`: of all ranks in a step.
void check_epochs(const Claims& claims, double images);

}  // namespace assay::formula
