#pragma once
// The document of `assay model --scale` (results-schema/scaling.schema.json), made and rendered.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/scaling/input.hpp"

namespace assay::scaling {

nlohmann::json scaling_document(const ScaleInput& input);

/// The document as tables, for people.
std::string render_scaling(const nlohmann::json& document, bool markdown);
/// The points of all curves as CSV (RFC 4180), with all digits.
std::string scaling_csv(const nlohmann::json& document);

}  // namespace assay::scaling
