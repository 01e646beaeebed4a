#pragma once
// What a benchmark's own program prints of a finished row.

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// Its lines on stdout: a value with its interval, or the reason why there is none.
void print_row(const nlohmann::json& row);

}  // namespace assay
