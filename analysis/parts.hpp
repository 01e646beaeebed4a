#pragma once
// Splits a gathered result file into the results that it was made of.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analysis/series.hpp"

namespace assay {

/// Adds to the indices in a row: those of its environment, and of the brackets of its ceiling.
void shift_indices(nlohmann::json& row, std::int64_t environments, std::int64_t brackets);
/// The same for a row as JSON text; the rest of the text does not change.
std::string shifted_text(std::string_view row, std::int64_t environments, std::int64_t brackets);

/// Appends the results that `named` was made of, each named by its first host; a result that was
/// not gathered is appended unchanged. InputError if "gathered" does not account for all
/// environments.
void add_parts(NamedResult named, Results& results);

}  // namespace assay
