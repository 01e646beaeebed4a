#pragma once
// The operations of a run of a network, with their times ("layers" of a row).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"

namespace assay {

/// The value of "layers".
nlohmann::json layers_json(const std::vector<LayerTime>& layers);

/// The sum of the layers' times agrees with the row's within this part of it.
inline constexpr double layers_agree_within = 0.1;
/// The value of "layers_sum" of a row that has "layers" and "time_s".
nlohmann::json layers_sum(const nlohmann::json& row);

/// A layer of `row` in the form of a row, with the fields from which a ceiling is computed: work,
/// algorithm, time.
nlohmann::json layer_as_row(const nlohmann::json& row, const nlohmann::json& layer);

/// Checks that rates are amounts / seconds, that "layers_sum" is their sum, and that no two layers
/// have the same name and direction. InputError as in check_row(); `where` names the row.
void check_layers(const nlohmann::json& row, const std::string& where);

}  // namespace assay
