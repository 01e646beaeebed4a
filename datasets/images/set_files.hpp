#pragma once
// The files of a set of images, found without reading them.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

struct SetFiles {
  std::filesystem::path folder;
  std::string pattern;             ///< of the files in `folder`; empty: the folder is the set
  std::vector<std::string> names;  ///< of all files, relative to `folder`
};

/// The files that open_samples(path) opens, in its order. Reads names and sizes, but no contents.
/// InputError as open_samples(); also for a pattern that matches several folders.
SetFiles find_set_files(const std::string& path);

}  // namespace assay
