#pragma once
// Where the files of a build tree or an install tree are.

#include <filesystem>
#include <string>

namespace assay {

/// Folder of the running executable, resolved; how plugins, suites and schemas are found in a build
/// and an install tree.
std::filesystem::path executable_folder();
/// The folder `name` ("suites", "results-schema") : ASSAY_DATA_PATH, the install tree's
/// share/assay, or the source tree.
std::filesystem::path data_folder(const std::string& name);

}  // namespace assay
