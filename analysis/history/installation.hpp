#pragma once
// Which build was promoted, and whether it is still the same.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// The folder of the executables that `build` means: it itself, its bin/, or the folder of the
/// program `assay` that it names. InputError if no benchmark is there.
std::filesystem::path programs_of(const std::string& build, const std::string& flag);

/// {"programs", "hash"}: the folder, and the hash of the content of its benchmarks, its plugins and
/// its core library. The hash is of the content alone: a build may be moved.
nlohmann::json installation_of(const std::filesystem::path& programs);

/// What an installation loads now, and did not when it was promoted; "": it is the same. What the
/// machine brings (kernel, drivers, C library, …) is no part of an installation: whether that makes
/// things slower is what a confirmation asks.
std::string software_difference(const nlohmann::json& promoted, const nlohmann::json& now);

}  // namespace assay
