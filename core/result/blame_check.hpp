#pragma once
// The check of a row's table of blame.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// InputError, which begins with `where`, if the numbers of /blame contradict each other, or lead
/// to other culprits than /blame lists.
void check_blame(const nlohmann::json& row, const std::string& where);

}  // namespace assay
