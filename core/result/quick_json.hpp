#pragma once
// Parsing of JSON by simdjson, several times faster than by nlohmann's parser. The results of a
// fleet of nodes may have a gigabyte.

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace assay {

/// The same value as json::parse(text). Nothing if the caller must use json::parse instead: for
/// invalid JSON, a repeated key, numbers that do not fit, very deep nesting, and always if Assay
/// was built without simdjson.
std::optional<nlohmann::json> quick_json(std::string_view text);

}  // namespace assay
