#pragma once
// The ceiling of a row: the least time that the machine's peak arithmetic and bandwidth allow, from
// rows of assay-stream that were measured before and after it (docs/method.md).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// One measurement of the machine's ceilings, as the journal's event "bracket" and the result's
/// run.bracket hold it: {"started", "seconds", "reason": null | text, "rows": rows of benchmark
/// stream}.
using Bracket = nlohmann::json;

/// Writes the "ceiling" of a row, or null and the "ceiling_reason". `around`: indices into
/// `brackets` of those measured before and after the row. `otherwise`: the reason to write if
/// `around` is empty. A row that is at least twice as fast as an undisturbed ceiling becomes
/// `failed` (core/result/impossible.hpp).
void add_ceiling(nlohmann::json& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const nlohmann::json& environment,
                 const std::string& otherwise);

}  // namespace assay
