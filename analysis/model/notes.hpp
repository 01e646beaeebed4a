#pragma once
// Notes that a reader of a fitted model needs besides its numbers.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/model/fitted_model.hpp"

namespace assay {

/// How to get more launches; for messages.
inline constexpr const char* more_launches =
    "run the suite several times: `assay run SUITE --launches 5 --out DIR`";

/// Writes "published", "citations" and "notes" of model.schema.json. `clustered_by`: "none",
/// "launch" or a column.
void add_notes(nlohmann::json& document, const FittedModel& model, const std::string& clustered_by);

}  // namespace assay
