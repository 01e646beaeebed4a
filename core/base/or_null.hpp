#pragma once
// JSON of values that may be absent.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace assay {

/// The value; null if there is none, or the text is empty.
template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
inline nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

}  // namespace assay
