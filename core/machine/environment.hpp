#pragma once
// The environment of a measurement. Results with different hardware or software are not comparable;
// the volatile state does not matter for this.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// The entry of "environments" in a result file. Unknown values are null.
///   host      the host's name
///   hardware  processor, sockets, cores, SMT, instruction sets, caches, NUMA, memory, theoretical
///             peaks where known, accelerators
///   software  OS, kernel, assay (version, commit, dirty, compiler, flags, build type), libraries
///             (name → version), loaded OpenMP runtimes, environment variables that change
///             arithmetic or threading, loaded binaries (add_binaries())
///   volatile  clocks and their limit, governor, THP, load, steal, temperature, throttling, free
///             memory, allowed processors, time
///   hashes    content_hash() of hardware and software
nlohmann::json capture_environment();

/// The present "volatile" part alone.
nlohmann::json capture_volatile();

/// Adds the library versions of a backend (Backend::software()) and updates the hashes.
void add_software(nlohmann::json& environment, const std::string& backend,
                  const nlohmann::json& versions);

/// Adds the identities of the binaries that are loaded by now (list_loaded_binaries()) and updates
/// the hashes. Called when all plugins of a process are open, so that a library that is loaded
/// later makes no other software.
void add_binaries(nlohmann::json& environment);

/// Removes from two "software" parts, for a comparison, the fields that one of them lacks.
void keep_common_fields(nlohmann::json& software, nlohmann::json& other);

/// Processors that this process may run on (affinity and cgroup quota).
int processors();
/// Bytes of host memory that can be allocated without swapping and within the cgroup's limit.
std::size_t memory_available();
/// Bytes of all caches of the last level together; 0 if unknown.
std::size_t cache_bytes();
/// The same of the machine that the "hardware" of an environment describes.
std::size_t cache_bytes(const nlohmann::json& hardware);
/// Short name for "system".name: ASSAY_SYSTEM, or the host's name.
std::string system_name();

}  // namespace assay
