#include "runner/launch/installation.hpp"

#include <fmt/format.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fstream>
#include <iterator>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "runner/launch/programs.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string hash_of_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  const boost::uuids::name_generator_sha1 generator(boost::uuids::ns::url());
  return boost::uuids::to_string(generator(content.data(), content.size()));
}

/// Adds the hashes of the files of a folder, by name; a missing folder has no files.
void add_hashes(const fs::path& folder, const std::string& prefix, json& into) {
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && fs::is_regular_file(entry.path(), missing))
      into[folder.filename().string() + "/" + name] = hash_of_file(entry.path());
  }
}

}  // namespace

fs::path checked_executable_folder(const std::string& build, const std::string& flag) {
  std::error_code missing;
  const fs::path given = fs::absolute(build).lexically_normal();
  const fs::path folder =
      executable_folder_of(fs::is_regular_file(given, missing) ? given.parent_path() : given);
  if (benchmark_names(folder).empty())
    throw InputError(fmt::format(
        "{} {} is not a build of Assay (there is no executable assay-<benchmark> in {}). Give the "
        "folder of the promoted build or installation that contains bin/, or its program assay.",
        flag, build, folder.string()));
  return folder;
}

json installation_of(const fs::path& programs) {
  json files = json::object();
  std::error_code missing;
  for (const std::string& name : benchmark_names(programs))
    files["assay-" + name] = hash_of_file(programs / ("assay-" + name));
  for (const char* folder : {"lib", "lib64"}) {
    add_hashes(programs.parent_path() / folder / "assay", "", files);
    add_hashes(programs.parent_path() / folder, "libassay", files);
  }
  return {{"programs", programs.string()}, {"hash", content_hash("installation", files)}};
}

}  // namespace assay
