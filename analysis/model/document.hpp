#pragma once
// The document of `assay model` (results-schema/model.schema.json), made and rendered.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

struct ModelOptions {
  std::string formula;
  std::map<std::string, std::string> references;  ///< column → level
  /// How the errors are clustered: by "launch", "none", or the name of a column; "": by launch if a
  /// launch has several rows, else none.
  std::string cluster;
  std::vector<std::map<std::string, std::string>> predictions;  ///< column → value
  std::string command;
};

/// InputError with the reason if the formula cannot be fitted to these results; NothingToModel
/// (frame.hpp) if no row can be used.
nlohmann::json model_document(std::vector<NamedResult> results, const ModelOptions& options);

/// The document as tables, for people.
std::string render_model(const nlohmann::json& document, bool markdown);
/// The coefficients as CSV (RFC 4180), with all digits.
std::string model_csv(const nlohmann::json& document);

}  // namespace assay
