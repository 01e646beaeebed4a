#pragma once
// The machine as it is: hardware and software decide whether two results are comparable, the
// volatile state never does.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// The "environments" entry of a result file: host, hardware, software, volatile, hashes. Unknown
/// is null.
///
/// hardware: processor, sockets, cores, SMT, instruction sets, caches, NUMA, memory, theoretical
/// peaks where known, accelerators. software: OS, kernel, assay (version, commit, dirty, compiler,
/// flags, build type), libraries (name → version), loaded OpenMP
///           runtimes, environment switches that change arithmetic or threading.
/// volatile: clocks, governor, THP, load, steal, temperature, throttling, memory free, processors
/// allowed (binding), time. Hashes are SHA-1 UUIDs of the canonical JSON text of the part.
nlohmann::json capture_environment();

/// Its "volatile" part alone, as it is now.
nlohmann::json capture_volatile();

/// Adds a backend's library versions (Backend::software()) and makes the hashes anew.
void add_software(nlohmann::json& environment, const std::string& backend,
                  const nlohmann::json& versions);

/// Processors that this process may run on (affinity and cgroup quota).
int processors();
/// Bytes of host memory that can be had without swapping, the cgroup's limit respected.
std::size_t memory_available();
/// Bytes of the last cache level, all its instances together (what a cold rotation must exceed), 0
/// if unknown.
std::size_t cache_bytes();
/// The same of the machine that an environment's "hardware" describes.
std::size_t cache_bytes(const nlohmann::json& hardware);
/// Short name for "system".name: ASSAY_SYSTEM, or the host's name.
std::string system_name();

}  // namespace assay
