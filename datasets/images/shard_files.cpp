#include "datasets/images/shard_files.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* in_folders = "*.tfrecord*";

/// A pattern that matches this text alone.
std::string literal(const std::string& text) {
  std::string pattern;
  for (const char letter : text) {
    if (std::string_view("*?[]\\").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

/// By default glob(3) silently skips a folder that it cannot read; here that is an error.
std::vector<std::string> matching(const std::string& pattern) {
  thread_local std::string fault;
  glob_t matches = {};
  const int result = glob(
      pattern.c_str(), GLOB_NOSORT,
      [](const char* folder, int error) {
        fault = fmt::format("cannot read the folder {} ({}). Check its name and permissions.",
                            folder, std::generic_category().message(error));
        return 1;
      },
      &matches);
  std::vector<std::string> files;
  if (result == 0) files.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  if (result == GLOB_ABORTED) throw InputError(fault);
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  std::erase_if(files, [](const std::string& file) {
    std::error_code unknown;
    return fs::is_directory(file, unknown);
  });
  std::sort(files.begin(), files.end());
  return files;
}

/// "train-00002-of-00004.tfrecord".
struct ShardName {
  std::string before, after;
  std::size_t digits = 0;
  std::int64_t number = 0, shards = 0;
  std::string with_number(std::int64_t other) const {
    return fmt::format("{}-{:0{}}-of-{:0{}}{}", before, other, digits, shards, digits, after);
  }
};

std::optional<ShardName> shard_name(const std::string& name) {
  constexpr std::size_t most_digits = 6;
  const std::size_t separator = name.rfind("-of-");
  if (separator == std::string::npos) return std::nullopt;
  const std::size_t dash = name.find_last_not_of("0123456789", separator - 1),
                    total = separator + 4;
  if (separator == 0 || dash == std::string::npos || name[dash] != '-') return std::nullopt;
  const std::size_t digits = separator - dash - 1,
                    end = std::min(name.find_first_not_of("0123456789", total), name.size());
  if (digits == 0 || digits > most_digits || end - total != digits) return std::nullopt;
  const auto number = parse_number<std::int64_t>(std::string_view(name).substr(dash + 1, digits)),
             shards = parse_number<std::int64_t>(std::string_view(name).substr(total, digits));
  if (!number || !shards) return std::nullopt;
  return ShardName{name.substr(0, dash), name.substr(end), digits, *number, *shards};
}

/// Throws InputError for the first missing shard that is `wanted`. A pattern may want only a part
/// of the shards.
void expect_all_shards(const std::string& path, const std::vector<std::string>& files,
                       const std::function<bool(const std::string&)>& wanted) {
  std::map<std::tuple<fs::path, std::string, std::string, std::int64_t>,
           std::pair<ShardName, std::set<std::int64_t>>>
      sets;
  for (const std::string& file : files)
    if (const auto name = shard_name(fs::path(file).filename().string())) {
      auto& set = sets[{fs::path(file).parent_path(), name->before, name->after, name->shards}];
      set.first = *name;
      set.second.insert(name->number);
    }
  for (const auto& [key, set] : sets) {
    const auto& [name, numbers] = set;
    // Some programs number shards from 1.
    const std::int64_t first = numbers.contains(name.shards) && !numbers.contains(0) ? 1 : 0;
    for (std::int64_t number = first; number < first + name.shards; ++number)
      if (!numbers.contains(number) && wanted(name.with_number(number)))
        throw InputError(fmt::format(
            "the TFRecord set {} is incomplete ({} is missing; {} of its {} shards are there). "
            "Complete it, or name the shards to use by a pattern.",
            path, (std::get<0>(key) / name.with_number(number)).string(), numbers.size(),
            name.shards));
  }
}

}  // namespace

std::vector<std::string> tfrecord_files(const std::string& path) {
  std::error_code missing;
  std::vector<std::string> files;
  if (fs::is_directory(path, missing)) {
    files = matching((fs::path(literal(path)) / in_folders).string());
    expect_all_shards(path, files, [](const std::string& name) {
      return fnmatch(in_folders, name.c_str(), FNM_PERIOD) == 0;
    });
    return files;
  }
  if (fs::exists(fs::symlink_status(path, missing))) return {path};
  const fs::path folder = fs::path(path).parent_path();
  const std::string name = fs::path(path).filename().string();
  const bool known = folder.empty() || fs::is_directory(folder, missing);
  const fs::path of_folder = known ? literal(folder.string()) : folder.string();
  files = matching((of_folder / name).string());
  if (!files.empty()) {
    expect_all_shards(path, files, [&](const std::string& shard) {
      return fnmatch(name.c_str(), shard.c_str(), FNM_PERIOD) == 0;
    });
    return files;
  }
  files = matching((of_folder / (literal(name) + "*")).string());
  expect_all_shards(path, files, [&](const std::string& shard) { return shard.starts_with(name); });
  return files;
}

}  // namespace assay
