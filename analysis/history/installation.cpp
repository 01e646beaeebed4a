#include "analysis/history/installation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "analysis/run/programs.hpp"
#include "analysis/run/run_plan.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/machine/environment.hpp"

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

std::string shown(const json* value) {
  if (value == nullptr) return "absent";
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

/// Whether a field of "software" is the identity of a library of the C library, the compiler or a
/// driver, which are updated with the machine.
bool is_machine_binary(const std::string& field) {
  const std::string folder = "/binaries/";
  if (!field.starts_with(folder)) return false;
  const std::string name = field.substr(folder.size());
  constexpr std::array system{"ld-",       "libc.so",  "libm.so",       "libmvec.so",
                              "libdl.so",  "librt.so", "libpthread.so", "libresolv.so",
                              "libnss_",   "libgcc_s", "libstdc++",     "libcuda.so",
                              "libnvidia-"};
  return std::any_of(system.begin(), system.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
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

std::string software_difference(json promoted, json now) {
  static const std::set<std::string> machine_parts{"os",        "kernel", "architecture",
                                                   "container", "libc",   "driver"};
  keep_common_fields(promoted, now);
  const json before = promoted.flatten(), after = now.flatten();
  std::map<std::string, std::pair<const json*, const json*>> fields;
  for (const auto& [key, value] : before.items()) fields[key].first = &value;
  for (const auto& [key, value] : after.items()) fields[key].second = &value;
  for (const auto& [key, values] : fields) {
    const auto& [was, is] = values;
    const bool both_absent = (was == nullptr || was->is_null()) && (is == nullptr || is->is_null());
    if (both_absent || (was != nullptr && is != nullptr && *was == *is)) continue;
    std::string rest = key;
    bool belongs_to_machine = is_machine_binary(key);
    while (!rest.empty()) {  // any part of the path
      const std::size_t at = rest.rfind('/');
      belongs_to_machine = belongs_to_machine || machine_parts.contains(rest.substr(at + 1));
      rest.resize(at);
    }
    if (!belongs_to_machine)
      return fmt::format("{} was {}, now it is {}", key, shown(was), shown(is));
  }
  return "";
}

}  // namespace assay
