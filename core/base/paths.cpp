#include "core/base/paths.hpp"

#include <cstdlib>
#include <vector>

#include "core/base/error.hpp"

namespace assay {

namespace fs = std::filesystem;

fs::path executable_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path data_folder(const std::string& name) {
  std::vector<fs::path> roots;
  if (const char* path = std::getenv("ASSAY_DATA_PATH"); path != nullptr && *path != '\0')
    roots.emplace_back(path);
  const fs::path prefix = executable_folder().parent_path();
  roots.push_back(prefix / "share" / "assay");
  // A build tree: <source>/build/bin, or any folder below a source tree. Its own suites come before
  // the compiled-in path, so that a moved checkout uses its own data.
  for (fs::path up = prefix; up.has_relative_path(); up = up.parent_path())
    if (fs::exists(up / "results-schema")) roots.push_back(up);
  for (const fs::path& root : roots)
    if (fs::is_directory(root / name)) return root / name;
  throw InputError(
      "cannot find the folder '" + name + "' (looked in " + roots.back().string() +
      " and beside the executables). Set ASSAY_DATA_PATH to the folder that holds it.");
}

}  // namespace assay
