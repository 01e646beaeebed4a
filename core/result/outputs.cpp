#include "core/result/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// By identity (device and inode), not by name: links lead to one file under many.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  if (fs::exists(a, missing) && fs::exists(b, missing)) return fs::equivalent(a, b, missing);
  // Absolute first: of a relative name that does not exist, the result would be relative, too.
  return fs::weakly_canonical(fs::absolute(a), missing) ==
         fs::weakly_canonical(fs::absolute(b), missing);
}

bool is_result(const fs::path& file) {
  if (file.filename() == "result.json") return true;
  if (file.extension() != ".json") return false;
  try {
    const nlohmann::json document = read_json(file);
    return document.is_object() && document.contains("schema") && document["schema"].is_string() &&
           document["schema"].get<std::string>().starts_with("assay-result/");
  } catch (const InputError&) {
    return false;
  }
}

/// Whether a command that is given `folder` reads `file`: what else lies there may be written anew
/// (a table of last week).
bool reads_from(const fs::path& folder, const fs::path& file) {
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return false;
  for (fs::recursive_directory_iterator entry(folder, unreadable), end; entry != end;
       entry.increment(unreadable)) {
    std::error_code missing;
    if (entry->is_regular_file(missing) && fs::equivalent(entry->path(), file, missing))
      return is_result(entry->path());
  }
  return false;
}

}  // namespace

void check_output(const std::string& flag, const fs::path& output,
                  const std::vector<std::string>& inputs) {
  std::error_code missing;
  const bool special = fs::exists(output, missing) && !fs::is_regular_file(output, missing);
  const std::vector<std::string> baselines = baseline_names();
  for (const std::string& name : inputs) {
    const bool shipped = !fs::exists(name, missing) &&
                         std::find(baselines.begin(), baselines.end(), name) != baselines.end();
    const fs::path input = shipped ? baseline_file(name) : fs::path(name);
    // A pipe or a terminal may be read and written.
    if (special || name.empty()) continue;
    if (fs::is_directory(input, missing) ? reads_from(input, output) : same_file(input, output))
      throw InputError(
          fmt::format("{} {} would overwrite an input of this command ({}). Name another file.",
                      flag, output.string(), name));
  }
  check_writable(output);
}

void check_outputs_differ(const std::vector<std::pair<std::string, fs::path>>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [flag, file] = outputs[i];
      std::error_code missing;
      const bool special = fs::exists(file, missing) && !fs::is_regular_file(file, missing);
      if (!special && same_file(outputs[k].second, file))
        throw InputError(fmt::format(
            "{} and {} name the same file ({}: the second would overwrite the first). Name two "
            "files.",
            outputs[k].first, flag, file.string()));
    }
}

}  // namespace assay
