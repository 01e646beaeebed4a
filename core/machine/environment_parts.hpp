#pragma once
// The parts of environment.hpp's capture; private to core.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay::environment {

/// First line of a small /proc or /sys file without its end; nothing if it cannot be read.
std::optional<std::string> first_line(const std::string& file);
std::vector<std::string> lines(const std::string& file);
/// The number that a file starts with.
std::optional<double> number_in(const std::string& file);
/// "key : value" or "key value" of /proc/meminfo, /proc/cpuinfo and memory.stat: the first value,
/// trimmed.
std::optional<std::string> field_in(const std::string& file, const std::string& key);
/// null for nothing.
template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// This process's files of that name in cgroup v2, and of `legacy` in v1's `controller`, from its
/// own group up to the root.
std::vector<std::string> cgroup_files(const std::string& name, const std::string& controller,
                                      const std::string& legacy);
/// Processors' worth of time that the cgroup grants (cpu.max); nothing: unlimited.
std::optional<double> cpu_quota();
/// Numbers of the processors that this process may use: its affinity mask before OpenMP has bound
/// its main thread.
std::vector<int> allowed_processors();
/// Takes OpenMP's binding back from the calling thread: a process that only starts others would
/// hand its one processor on to them.
void unbind_this_thread();

nlohmann::json hardware();
nlohmann::json software();
/// A user chooses this variable, and it can change results or times: it is part of the software.
/// What a launcher sets for one job (ids, addresses, directories, secrets, node lists) is not.
bool is_user_setting(const std::string& variable);
nlohmann::json volatile_state();

/// What the makers' documents promise of a machine that "hardware" describes: operations and bytes
/// a second, all cores at their highest clock; null with the reason where something is not known.
nlohmann::json theoretical_peaks(const nlohmann::json& hardware);

/// Capacity of the last cache level, all instances together (hwloc); 0 if unknown.
std::size_t last_cache_bytes();
/// The same as "hardware" tells it.
std::size_t last_cache_bytes(const nlohmann::json& hardware);

}  // namespace assay::environment
