#pragma once
// What a fitted model predicts for values of the columns.

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/model/fitted_model.hpp"

namespace assay {

/// A prediction from "column → value" (model.schema.json, "predictions"). InputError for columns
/// that the formula does not have, for columns without a value, and for text where a number is
/// needed.
nlohmann::json prediction_of(const FittedModel& model,
                             const std::map<std::string, std::string>& given);

/// The cell for `text`, a number of the command line for a column of numbers. InputError.
Cell number_cell(const std::string& flag, const std::string& column, const std::string& text);

}  // namespace assay
