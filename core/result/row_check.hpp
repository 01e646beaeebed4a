#pragma once
// Checks of the numbers of one ok row. Internal to result_check.cpp, which checks rows of files.

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// Checks the numbers that depend on the row alone: times, rates, verification, energy, baseline,
/// epochs, layers. InputError as in check_row(); `where` names the row.
void check_numbers(const nlohmann::json& row, const std::string& where, int statistics);

/// Checks an ok row of a bracket (the ceilings of a run), which has no samples: order of its times,
/// rates, verification. InputError as in check_row().
void check_bracket_row(const nlohmann::json& row, const std::string& where);

/// Checks the ceiling of a row: the larger of the shortest times that its peak and its bandwidth
/// allow, over the median. `brackets`: the ceilings that the run has measured; null: none.
/// InputError as in check_row().
void check_ceiling(const nlohmann::json& row, const std::string& where, int statistics,
                   const nlohmann::json* brackets);

}  // namespace assay
