#pragma once
// The check of a row's burn-in.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// InputError, which begins with `where`, if the numbers of /burn contradict each other or the
/// status of the row.
void check_burn(const nlohmann::json& row, const std::string& where);

}  // namespace assay
