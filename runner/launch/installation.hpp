#pragma once
// Which build was promoted, and whether its files are still the same.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// The folder of the executables of a build. `build`: this folder, the folder that contains it as
/// bin/, or a program in it. InputError, naming `flag`, if no benchmark is there.
std::filesystem::path checked_executable_folder(const std::string& build, const std::string& flag);

/// {"programs", "hash"}: the folder of the executables, and a hash of the contents of the
/// benchmarks, plugins and core library. Paths are not part of the hash, so a build may be moved.
nlohmann::json installation_of(const std::filesystem::path& programs);

}  // namespace assay
