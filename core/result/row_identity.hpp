#pragma once
// Checks that a row's id, parameters and problem belong to the same case.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// Checks the id of a row that Assay measured against the row's parameters and problem, by the
/// template of the id (make_id_form()). InputError: `where`, the JSON pointer within the row, the
/// value that was found, and the expected one.
void check_identity(const nlohmann::json& row, const std::string& where);

/// Checks that the environment of a row with another allocator than the system's
/// (core/program/allocator.hpp) has this allocator. InputError as above.
void check_allocator(const nlohmann::json& row, const nlohmann::json& environment,
                     const std::string& where);

/// Checks that the parameters of `row` equal those of `first`, the first row with its id, except
/// parameters of the system that the id always omits ([/name]). InputError as above.
void check_equal_parameters(const nlohmann::json& row, const nlohmann::json& first,
                            const std::string& where);

}  // namespace assay
