#pragma once
// A gathered result file, taken apart into the results that it was made of.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// Adds to what a row refers to by index: its environment, and the brackets of its ceiling.
void shift_indices(nlohmann::json& row, std::int64_t environments, std::int64_t brackets);
/// The same for the text of a row; all else of it stays as it is.
std::string shifted_text(std::string_view row, std::int64_t environments, std::int64_t brackets);

/// Appends the results that `named` was made of, each with the name of its first host; any other
/// result by itself. InputError where "gathered" does not account for all environments.
void add_parts(NamedResult named, std::vector<NamedResult>& results);

}  // namespace assay
