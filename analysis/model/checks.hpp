#pragma once
// What a fitted model says about what it has not seen: observations left out, and predictions.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/model/design.hpp"
#include "analysis/model/fit.hpp"

namespace assay {

struct FittedModel {
  const Formula& formula;
  const Frame& frame;
  const Design& design;
  const LeastSquares& fit;
  const Errors& errors;
  double sigma = 0;
};

/// Each machine in turn (system, else architecture, else host), then the largest problem (size,
/// else flops, else bytes): fitted without, predicted, compared.
nlohmann::json validation_of(const FittedModel& model);

/// "" or the warning that terms which vary only between problems have too small an error. Launches
/// of the same problems repeat what the model gets wrong about a problem: errors by launch (or by
/// row) then say how well these problems are known, not how well the term is.
std::string between_problems_note(const FittedModel& model, const std::string& clustered_by);

/// One prediction from "column → value"; InputError for columns that the formula lacks or that are
/// not given, and for text where a number is needed.
nlohmann::json prediction_of(const FittedModel& model,
                             const std::map<std::string, std::string>& given);

/// A number of the command line as a cell of a column that holds numbers.
Cell number_cell(const std::string& flag, const std::string& column, const std::string& text);

/// null where there is no finite number.
nlohmann::json finite_or_null(double value);

}  // namespace assay
