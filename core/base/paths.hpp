#pragma once
// Locations of files, in a build tree and in an install tree.

#include <filesystem>
#include <string>

namespace assay {

/// The folder of the running executable, with symbolic links resolved. Plugins, suites and schemas
/// are found relative to it.
std::filesystem::path executable_folder();
/// The folder of data files of this name ("suites", "results-schema"): the first that exists in
/// ASSAY_DATA_PATH, the install tree's share/assay, and the source tree. InputError if none does.
std::filesystem::path data_folder(const std::string& name);

}  // namespace assay
