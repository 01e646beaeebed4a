#pragma once
// The operations that a run is made of, as a row has them (row.layers of the result's schema).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"

namespace assay {

nlohmann::json layers_json(const std::vector<LayerTime>& layers);

/// A layer of `row` as a row of its own, as far as a ceiling is concerned: work, algorithm, time.
nlohmann::json layer_as_row(const nlohmann::json& row, const nlohmann::json& layer);

/// Rates are amounts over seconds, and no two layers are of one name and direction. `where` is the
/// place of the row; InputError as check_row.
void check_layers(const nlohmann::json& row, const std::string& where);

}  // namespace assay
