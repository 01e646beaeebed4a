#pragma once
// The operations of a run of a network, with their times ("layers" of a row).

#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "core/result/row.hpp"

namespace assay {

std::vector<RowLayer> make_layers(const std::vector<LayerTime>& times);

/// The sum of the layers' times agrees with the row's within this part of it.
inline constexpr double layers_agree_within = 0.1;
/// The "layers_sum" of a row that has layers and a time.
RowLayersSum sum_layers(const Row& row);

/// A layer of `row` as a row with the fields from which a ceiling is computed: work, algorithm,
/// time.
Row make_row_of_layer(const Row& row, const RowLayer& layer);

/// Checks that rates are amounts / seconds, that "layers_sum" is their sum, and that no two layers
/// have the same name and direction. InputError as in check_row(); `where` names the row.
void check_layers(const Row& row, const std::string& where);

}  // namespace assay
