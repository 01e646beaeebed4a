#pragma once
// Parsing of JSON by simdjson, several times as fast as nlohmann's: a fleet's rows are a gigabyte.

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace assay {

/// The document of `text`, as json::parse makes it. Nothing for what is left to the slow parser:
/// whatever is no JSON, a key given twice, numbers that do not fit, absurd nesting; and everything
/// where Assay was built without simdjson.
std::optional<nlohmann::json> quick_json(std::string_view text);

}  // namespace assay
