#pragma once
// Whether the rows of two systems did the same work.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// A parameter of a row, or what it is where a row does not have it; null where a published row
/// says that its source does not give the value.
nlohmann::json parameter(const nlohmann::json& row, const std::string& name);
/// The value of a parameter as text; "not given" of null.
std::string shown(const nlohmann::json& value);
/// The name of a problem within its list: "8GB" of "coral2/8GB".
std::string within_list(const std::string& name);

/// Parameters that `row` has and a published row of the same size, which tells a problem's name
/// alone, leaves to the definition of that problem.
std::vector<std::string> left_to_the_name(const nlohmann::json& row, const nlohmann::json& base);
/// The first difference between the work of two rows, or "".
std::string difference(const nlohmann::json& row, const nlohmann::json& base);

}  // namespace assay
