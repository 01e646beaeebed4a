#include "core/result/outputs.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"
#include "core/result/schema.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Compares device and inode, not names, because links give one file many names.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  if (fs::exists(a, missing) && fs::exists(b, missing)) return fs::equivalent(a, b, missing);
  // absolute() first: for a relative name that does not exist, weakly_canonical() would return a
  // relative one.
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

using Takes = std::function<bool(const fs::path&)>;

/// True if `file` is below `top` (links to folders are followed) and is a file that the command
/// reads.
bool is_below(const fs::path& top, const fs::path& file, const Takes& takes) {
  struct stat state {};
  if (::stat(file.c_str(), &state) != 0) return false;
  // A file without hard links has one name, so most entries of a large folder need no stat().
  const bool one_name = state.st_nlink == 1;
  std::error_code unknown;
  const fs::path name = fs::canonical(file, unknown).filename();
  std::set<std::pair<dev_t, ino_t>> seen;
  for (std::vector<fs::path> folders{top}; !folders.empty();) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    if (::stat(folder.c_str(), &state) != 0 || !seen.emplace(state.st_dev, state.st_ino).second)
      continue;
    for (fs::directory_iterator entry(folder, unknown), end; entry != end;
         entry.increment(unknown)) {
      std::error_code missing;
      if (entry->is_directory(missing))
        folders.push_back(entry->path());
      else if ((!one_name || entry->path().filename() == name || entry->is_symlink(missing)) &&
               entry->is_regular_file(missing) && fs::equivalent(entry->path(), file, missing) &&
               takes(entry->path()))
        return true;
    }
  }
  return false;
}

/// True if the input, a file or a folder, is or has `output`.
bool is_input(const fs::path& input, const fs::path& output, const Takes& takes) {
  std::error_code missing;
  if (is_special(output)) return false;  // a terminal may be read and written
  return fs::is_directory(input, missing) ? is_below(input, output, takes)
                                          : same_file(input, output);
}

[[noreturn]] void refuse_input(const std::string& flag, const fs::path& output,
                               const std::string& input) {
  throw InputError(
      fmt::format("{} {} would overwrite an input of this command ({}). Name another file.", flag,
                  output.string(), input));
}

/// The files that `assay run`, `job` and `collect` write into the folder of a run.
constexpr const char* files_of_run[] = {
    "result.json", "journal.jsonl", "ceilings.json", "nodes.txt",     "pairs.txt",
    "end.txt",     ".lock",         ".held-by",      ".held-by.next", ".space"};
/// Files of a run that can be made again from the others.
constexpr const char* derived_of_run[] = {"history.json", "junit.xml", "job.sh"};
constexpr const char* folders_of_run[] = {"log", "against", "confirm"};

bool among(const auto& names, const fs::path& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// True if a run writes a file of this name, relative to the run's folder.
bool is_kept_by_run(const fs::path& relative) {
  if (relative.empty()) return false;
  if (relative.has_parent_path()) return among(folders_of_run, *relative.begin());
  const std::string name = relative.string();
  return among(files_of_run, relative) || (name.starts_with("plan-") && name.ends_with(".json"));
}

/// The folder of the run whose record the file is part of, if it is.
std::optional<fs::path> find_run(const fs::path& file) {
  std::error_code missing;
  const fs::path real = fs::canonical(file, missing);
  if (missing || !fs::is_regular_file(real, missing)) return std::nullopt;
  for (fs::path folder = real.parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (fs::is_regular_file(folder / "journal.jsonl", missing) &&
        is_kept_by_run(real.lexically_relative(folder)))
      return folder;
  return std::nullopt;
}

}  // namespace

void check_no_input(const std::string& flag, const fs::path& output,
                    const std::vector<std::string>& inputs) {
  const std::vector<std::string> baselines = list_baseline_names();
  for (const std::string& name : inputs) {
    std::error_code missing;
    const bool shipped = !fs::exists(name, missing) && among(baselines, fs::path(name));
    const fs::path input = shipped ? baseline_file(name) : fs::path(name);
    if (!name.empty() && is_input(input, output, is_result)) refuse_input(flag, output, name);
  }
  check_writable(output);
}

void check_output(const std::string& flag, const fs::path& output,
                  const std::vector<std::string>& inputs) {
  check_no_input(flag, output, inputs);
  // The result of a run may be made again from its journal.
  const auto remakes = [&](const fs::path& run) {
    return output.filename() == "result.json" &&
           std::any_of(inputs.begin(), inputs.end(), [&](const std::string& name) {
             return same_file(run / "journal.jsonl", name);
           });
  };
  if (const auto run = find_run(output); run && !remakes(*run))
    throw InputError(
        fmt::format("{} {} would overwrite a part of the run in {}. Name another file.", flag,
                    output.string(), run->string()));
}

void check_output_beside_data(const std::string& flag, const fs::path& output,
                              const std::vector<std::string>& values) {
  const Takes takes = [](const fs::path& file) { return !is_result(file); };
  for (const std::string& value : values) {
    std::error_code missing;
    if (value.empty()) continue;
    std::vector<std::string> names{value};
    glob_t matches{};
    if (!fs::exists(value, missing) && ::glob(value.c_str(), GLOB_NOSORT, nullptr, &matches) == 0)
      names.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
    for (const std::string& name : names)
      if (is_input(name, output, takes)) refuse_input(flag, output, name);
  }
}

void check_run_folder(const fs::path& folder, const std::vector<std::string>& inputs) {
  std::error_code missing;
  const fs::path real = fs::weakly_canonical(fs::absolute(folder), missing);
  const auto refuse = [&](const std::string& input, const fs::path& name) {
    throw InputError(
        fmt::format("--out {} would overwrite an input of this command ({}, as {}). Choose another "
                    "folder.",
                    folder.string(), input, name.string()));
  };
  std::vector<fs::path> names(std::begin(files_of_run), std::end(files_of_run));
  names.insert(names.end(), std::begin(derived_of_run), std::end(derived_of_run));
  for (const fs::path& name : names) {
    if (fs::is_symlink(fs::symlink_status(real / name, missing))) resolve_output(real / name);
    for (const std::string& input : inputs)
      if (fs::is_regular_file(input, missing) && same_file(real / name, input)) refuse(input, name);
  }
  for (const std::string& input : inputs) {
    if (!fs::is_regular_file(input, missing)) continue;
    const fs::path relative = fs::canonical(input, missing).lexically_relative(real);
    if (is_kept_by_run(relative)) refuse(input, relative);
    for (const char* below : folders_of_run)
      if (is_below(real / below, input, [](const fs::path&) { return true; })) refuse(input, below);
  }
}

void check_outputs_differ(const std::vector<std::pair<std::string, fs::path>>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [flag, file] = outputs[i];
      if (!is_special(file) && same_file(outputs[k].second, file))
        throw InputError(fmt::format(
            "{} and {} name the same file ({}: the second would overwrite the first). Name two "
            "files.",
            outputs[k].first, flag, file.string()));
    }
}

}  // namespace assay
