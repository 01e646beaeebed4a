#pragma once
// What a benchmark's own program prints of its finished rows.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// The lines of a row: its id, then the time with its interval and rates in units that people read,
/// or the reason why there is no time.
std::string row_text(const nlohmann::json& row, bool colour = false);
/// Its lines on stdout, at once.
void print_row(const nlohmann::json& row);

/// The lines after the last row that say what the marks in them mean; "" where none is marked.
std::string marks_text(const nlohmann::json& rows);

}  // namespace assay
