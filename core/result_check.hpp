#pragma once
// What a schema cannot say of a row: that its numbers follow from each other.

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// Whether the algorithm does fewer operations than the direct sum that everybody quotes: its own
/// rate is unknown unless the implementation tells its operations.
bool saves_operations(const std::string& algorithm);

/// A row that is faster than its ceiling by more than this part is marked ("exceeded").
inline constexpr double ceiling_exceeded_above = 0.03;

/// Recomputes all of time_s from samples_s, and holds rates, ceiling, baseline, verification, id
/// and environment of a row of `result` against what they are made of. InputError with the JSON
/// pointer, what was found and what was expected.
void check_row(const nlohmann::json& row, std::size_t index, const nlohmann::json& result,
               const std::string& file);

/// InputError "FILE at /rows/INDEX" + `what`.
[[noreturn]] void refuse_row(const std::string& file, std::size_t index, const std::string& what);

}  // namespace assay
