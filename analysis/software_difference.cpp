#include "analysis/software_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string describe_value(const json* value) {
  if (value == nullptr) return "absent";
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

/// True if a field of "software" identifies a file of the C library, the compiler or a driver,
/// which are updated with the machine.
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

std::string describe_software_difference(json promoted, json now) {
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
      return fmt::format("{} was {}, now it is {}", key, describe_value(was), describe_value(is));
  }
  return "";
}

}  // namespace assay
