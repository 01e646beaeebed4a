#pragma once
// What a procurement prescribes: the suite NAME-conform, a file in suites/. `--conform NAME` runs
// its case of a benchmark, so that the settings are data.

#include <map>
#include <string>
#include <vector>

namespace assay {

/// Value of the dimension `conform` at which nothing is prescribed.
inline constexpr const char* conform_none = "none";

/// Names of the procurements that prescribe a case of a benchmark.
std::vector<std::string> procurements(const std::string& benchmark);

/// What the chosen procurement compares its cases with; none where none is chosen. `chosen`:
/// dimension → values.
std::vector<std::string> prescribed_baselines(
    const std::string& benchmark, const std::map<std::string, std::vector<std::string>>& chosen);
/// Adds to `chosen` what the procurement among it prescribes for a benchmark, where there is one;
/// all other dimensions are free. Returns the note of the case. InputError for another value of a
/// prescribed dimension, for several procurements, and for a suite that prescribes other than one
/// case.
std::string add_prescribed(const std::string& benchmark,
                           std::map<std::string, std::vector<std::string>>& chosen);

}  // namespace assay
