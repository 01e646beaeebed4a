#include "analysis/programs.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/plugins.hpp"
#include "core/text.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {
const std::string prefix = "assay-";
}

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(executable_folder(), unreadable)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(prefix) && entry.is_regular_file() &&
        access(entry.path().c_str(), X_OK) == 0)
      names.push_back(file.substr(prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path executable_of(const std::string& benchmark) {
  const auto names = benchmark_names();
  if (std::find(names.begin(), names.end(), benchmark) == names.end())
    throw InputError(unknown_name("benchmark", benchmark, names) + " (Looked for assay-" +
                     benchmark + " in " + executable_folder().string() + ".)");
  return executable_folder() / (prefix + benchmark);
}

}  // namespace assay
