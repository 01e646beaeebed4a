#include "analysis/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Plans, suites and comparisons may be in the same folder as results.
bool is_result(const fs::path& file) {
  if (file.filename() == "result.json") return true;
  const nlohmann::json document = read_json(file);
  return document.is_object() && document.contains("schema") && document["schema"].is_string() &&
         document["schema"].get<std::string>().starts_with("assay-result/");
}

/// Whether this is the name of a shipped baseline, and no file has that name.
bool is_baseline(const std::string& name) {
  const std::vector<std::string> names = baseline_names();
  return !fs::exists(name) && std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<fs::path> files_of(const fs::path& name) {
  if (is_baseline(name)) return {baseline_file(name)};
  if (!fs::is_directory(name)) return {name};
  if (fs::exists(name / "result.json")) return {name / "result.json"};
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(name); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && fs::exists(entry->path() / "result.json")) {
      files.push_back(entry->path() / "result.json");
      entry.disable_recursion_pending();  // its plans are not results
    } else if (entry->is_regular_file() && entry->path().extension() == ".json" &&
               is_result(entry->path())) {
      files.push_back(entry->path());
    }
  }
  if (files.empty())
    throw InputError(
        fmt::format("{} contains no results (no result.json, no file with the schema "
                    "assay-result). Give the folder of a run, or make one with `assay run`.",
                    name.string()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<NamedResult> load_results(const std::vector<std::string>& names) {
  std::vector<NamedResult> results;
  std::set<fs::path> seen;
  for (const std::string& name : names)
    for (const fs::path& file : files_of(name)) {
      if (!seen.insert(fs::weakly_canonical(file)).second)
        throw InputError(fmt::format(
            "{} is given twice (its rows would count twice). Give it once.", file.string()));
      const bool whole =
          is_baseline(name) || (fs::is_directory(name) && file == fs::path(name) / "result.json");
      results.push_back({whole ? name : file.string(), read_result(file)});
    }
  if (results.size() == 1) results.front().name.clear();
  return results;
}

}  // namespace assay
