#pragma once
// What the machine could have done at most for a row, from assay-stream's rows measured before and
// after it (docs/method.md).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// One measurement of the machine's ceilings, as the journal's event "bracket" and the result's
/// run.bracket hold it: {"started", "seconds", "reason": null | text, "rows": rows of benchmark
/// stream}.
using Bracket = nlohmann::json;

/// Gives the row its "ceiling", or null and the "ceiling_reason". `around`: the brackets measured
/// before and after it, by their index in `brackets`; `otherwise`: the reason where there is none.
/// A row that is twice as fast as an undisturbed ceiling becomes `failed`
/// (core/result/impossible.hpp).
void add_ceiling(nlohmann::json& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const nlohmann::json& environment,
                 const std::string& otherwise);

}  // namespace assay
