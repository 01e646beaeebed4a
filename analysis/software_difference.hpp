#pragma once
// Differences between the software of two environments.

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// The first difference between the software that an installation loaded when it was promoted and
/// the software that it loads now, or "". Software that belongs to the machine (kernel, drivers, C
/// library, …) is not compared, because a confirmation asks whether the machine became slower.
std::string describe_software_difference(nlohmann::json promoted, nlohmann::json now);

}  // namespace assay
