#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "assay/build_info.hpp"
#include "core/base/version.hpp"
#include "core/machine/environment_parts.hpp"

extern char** environ;  // NOLINT: POSIX declares it nowhere else

namespace assay::environment {
namespace {

using nlohmann::json;

json operating_system() {
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"})
    for (const std::string& line : lines(file))
      if (line.starts_with("PRETTY_NAME=")) {
        std::string name = line.substr(12);
        if (name.size() >= 2 && (name.front() == '"' || name.front() == '\''))
          name = name.substr(1, name.size() - 2);
        return name;
      }
  return nullptr;
}

/// A hint only: what the usual container runtimes leave behind.
json container() {
  std::error_code missing;
  for (const char* variable : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"})
    if (std::getenv(variable) != nullptr) return "apptainer";
  if (std::filesystem::exists("/.dockerenv", missing)) return "docker";
  if (std::filesystem::exists("/run/.containerenv", missing)) return "podman";
  if (const char* name = std::getenv("container"); name != nullptr && *name != '\0')
    return name;  // systemd-nspawn, lxc
  for (const std::string& line : lines("/proc/self/cgroup"))
    for (const char* hint : {"docker", "kubepods", "lxc", "containerd"})
      if (line.find(hint) != std::string::npos) return hint;
  return nullptr;
}

/// OpenMP runtimes in this process, by file name: two at once have two thread pools, which spoil
/// each other's timing.
json openmp_runtimes() {
  std::set<std::string> runtimes;
  for (const std::string& line : lines("/proc/self/maps")) {
    const std::size_t slash = line.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string file = line.substr(slash + 1);
    for (const char* prefix :
         {"libgomp", "libomp.", "libomp-", "libomp5", "libiomp5", "libnvomp", "libcraymp"})
      if (file.starts_with(prefix)) runtimes.insert(file);
  }
  return runtimes;
}

json user_settings() {
  json all = json::object();
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    if (is_user_setting(name)) all[name] = text.substr(equals + 1);
  }
  return all;
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("API {}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

}  // namespace

json software() {
  struct utsname system {};
  const bool known = ::uname(&system) == 0;
  const std::string commit = git_commit();
  return {
      {"os", operating_system()},
      {"kernel",
       known ? json(fmt::format("{} {}", system.sysname, system.release)) : json(nullptr)},
      {"architecture", known ? json(system.machine) : json(nullptr)},
      {"container", container()},
      {"assay",
       {{"version", build_info::version},
        {"commit", commit.empty() ? json(nullptr) : json(commit)},
        {"dirty", commit.empty() ? json(nullptr) : json(git_dirty())},
        {"compiler", fmt::format("{} {}", build_info::compiler_id, build_info::compiler_version)},
        {"flags", build_info::flags},
        {"build_type", build_info::build_type}}},
      {"libraries",
       {{"libc", fmt::format("glibc {}", ::gnu_get_libc_version())}, {"hwloc", hwloc_version()}}},
      {"openmp_runtimes", openmp_runtimes()},
      {"switches", user_settings()}};
}

}  // namespace assay::environment
