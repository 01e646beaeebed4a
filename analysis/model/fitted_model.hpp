#pragma once
// A formula fitted to a frame, with its standard errors: the input of validation, predictions and
// notes.

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/model/design.hpp"
#include "analysis/model/errors.hpp"
#include "analysis/model/fit.hpp"

namespace assay {

struct FittedModel {
  const Formula& formula;
  const Frame& frame;
  const Design& design;
  const LeastSquares& fit;
  const Errors& errors;
  Quality quality;
};

/// null for a number that is not finite.
inline nlohmann::json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace assay
