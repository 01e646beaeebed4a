#pragma once
// A formula fitted to a frame, with its standard errors, and its parts of the document.

#include <map>
#include <string>
#include <vector>

#include "analysis/model/design.hpp"
#include "analysis/model/fit.hpp"

namespace assay {

struct FittedModel {
  Formula formula;
  Frame frame;
  Design design;
  LeastSquares fit;
  Errors errors;
  std::string clustered_by;  ///< "none", "launch" or a column
};

/// Advice on getting more launches; for messages.
inline constexpr const char* more_launches =
    "run the suite several times: `assay run SUITE --launches 5 --out DIR`";

/// The number; nothing if it is not finite.
std::optional<double> finite(double value);

/// InputError if the formula cannot be fitted to these observations; NothingToModel if none can be
/// used.
FittedModel fit_model(const Formula& formula, Frame frame, const ModelOptions& options);

/// Leaves out each machine in turn (by system, else architecture, else host), then the largest
/// problem (by size, else flops, else bytes), fits the rest, and compares its predictions with the
/// observations that were left out.
std::vector<Validation> validate_model(const FittedModel& model);

/// A prediction from "column → value". InputError for columns that the formula does not have, for
/// columns without a value, and for text where a number is needed.
Prediction make_prediction(const FittedModel& model,
                           const std::map<std::string, std::string>& inputs);

/// The cell for `text`, a number of the command line for a column of numbers. InputError.
FrameValue parse_number_cell(const std::string& flag, const std::string& column,
                             const std::string& text);

/// Writes "published", "citations" and "notes" of the document.
void add_notes(ModelDocument& document, const FittedModel& model);

}  // namespace assay
