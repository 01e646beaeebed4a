#pragma once
// Functions that read the parts of an environment. Internal to core.

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/or_null.hpp"

namespace assay::environment {

/// The first line of a small /proc or /sys file, without its line break; nothing if the file cannot
/// be read.
std::optional<std::string> first_line(const std::string& file);
std::vector<std::string> lines(const std::string& file);
/// The number at the beginning of a file.
std::optional<double> number_in(const std::string& file);
/// The first value of a key in a file with lines "key : value" or "key value" (/proc/meminfo,
/// /proc/cpuinfo, memory.stat), without surrounding blanks.
std::optional<std::string> field_in(const std::string& file, const std::string& key);

/// Paths of this process's cgroup files, from its own group up to the root: those called `name` in
/// cgroup v2, and those called `legacy` in the `controller` of v1.
std::vector<std::string> cgroup_files(const std::string& name, const std::string& controller,
                                      const std::string& legacy);
/// The number of processors whose time the cgroup grants (cpu.max); nothing: unlimited.
std::optional<double> cpu_quota();
/// Numbers of the processors that this process may use: its affinity mask before OpenMP bound its
/// main thread.
std::vector<int> list_allowed_processors();
/// Numbers of the processors that any thread of this process may use now.
std::set<int> processors_of_threads();
/// Undoes OpenMP's binding of the calling thread. Child processes inherit a binding, so a process
/// that starts others calls it first.
void unbind_this_thread();

nlohmann::json hardware();
nlohmann::json software();
/// True if this environment variable is a user's choice that can change results or times; it is
/// then recorded as software. Variables that a launcher sets for one job (ids, addresses,
/// directories, secrets, lists of nodes) are not.
bool is_user_setting(const std::string& variable);
nlohmann::json volatile_state();
/// The smallest part of its highest clock that one of the processors may have now; null where it is
/// unknown. `folder`: that of their files.
nlohmann::json clock_limit(const std::vector<int>& processors,
                           const std::string& folder = "/sys/devices/system/cpu");

/// Theoretical peaks of the machine that "hardware" describes, by the vendors' documents:
/// operations and bytes per second of all cores at their highest clock. An unknown peak is null,
/// with the reason.
nlohmann::json compute_theoretical_peaks(const nlohmann::json& hardware);

/// Bytes of all caches of the last level together, by hwloc; 0 if unknown.
std::size_t last_cache_bytes();
/// The same, from the "hardware" of an environment.
std::size_t last_cache_bytes(const nlohmann::json& hardware);

}  // namespace assay::environment
