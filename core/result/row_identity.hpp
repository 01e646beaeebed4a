#pragma once
// That a row's id, parameters and problem are of one case.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// Holds parameters and problem of a row that Assay measured against its id: by the form of the id
/// that the row tells, every parameter; without it (files of older versions), what stands in an id
/// that begins with the benchmark's name. InputError, `where` + JSON pointer within the row + what
/// was found and expected.
void check_identity(const nlohmann::json& row, const std::string& where);

/// A row that was measured with another allocator than the system's (core/program/allocator.hpp):
/// its environment must have found that one. `where` as above.
void check_allocator(const nlohmann::json& row, const nlohmann::json& environment,
                     const std::string& where);

/// Rows of one id have equal settings: the parameters of `row` against those of the first row of
/// its id.
void check_equal_parameters(const nlohmann::json& row, const nlohmann::json& first,
                            const std::string& where);

}  // namespace assay
