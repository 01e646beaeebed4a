#pragma once
// Copies a row from file to file as text.

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// A row as JSON text, with larger indices of its environment and of its ceiling's brackets. The
/// rest of the text does not change.
std::string shift_numbers(std::string_view row, std::int64_t environments, std::int64_t brackets);

}  // namespace assay
