#pragma once
// Decides if rows of two systems did the same work.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/row.hpp"

namespace assay {

/// The value of a parameter of a row, or its default if the row does not have it. null if a
/// published row says that its source does not state the value.
nlohmann::json parameter(const Row& row, const std::string& name);
/// The value of a parameter as text; of null "not given".
std::string describe_value(const nlohmann::json& value);
/// The name of a problem within its list: "8GB" of "coral2/8GB".
std::string within_list(const std::string& name);

/// Parameters of `row` that `base` does not have. `base` is a published row of the same size that
/// has only the name of its problem, which implies these parameters.
std::vector<std::string> list_implied_parameters(const Row& row, const Row& base);
/// The first difference between the work of two rows; "" if they did the same work.
std::string difference(const Row& row, const Row& base);

}  // namespace assay
