#pragma once
// Settings that a procurement prescribes. They are data: the suite NAME-conform, a file in suites/.
// `--conform NAME` runs the case that it has for the benchmark.

#include <map>
#include <string>
#include <vector>

namespace assay {

/// Value of the dimension `conform` at which nothing is prescribed.
inline constexpr const char* conform_none = "none";

/// Names of the procurements that prescribe a case of a benchmark.
std::vector<std::string> procurements(const std::string& benchmark);

/// The baselines that the chosen procurement names. `chosen`: values by dimension; its "conform" is
/// the procurement. Empty if none is chosen.
std::vector<std::string> list_prescribed_baselines(
    const std::string& benchmark, const std::map<std::string, std::vector<std::string>>& chosen);
/// Adds to `chosen` the values that the chosen procurement prescribes for a benchmark; other
/// dimensions are not changed. Returns the note of the prescribed case. Does nothing if no
/// procurement is chosen. InputError if a prescribed dimension has another value in `chosen`, if
/// several procurements are chosen, or if the suite does not have exactly one case of the
/// benchmark.
std::string add_prescribed(const std::string& benchmark,
                           std::map<std::string, std::vector<std::string>>& chosen);

}  // namespace assay
