#include "core/machine/environment.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/hash.hpp"
#include "core/machine/binaries.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay {
namespace {

using nlohmann::json;
namespace parts = environment;

void make_hashes(json& environment) {
  json hardware = environment.at("hardware");
  hardware.erase("peaks");  // derived; a better table does not change the machine
  environment["hashes"] = {{"hardware", content_hash("hardware", hardware)},
                           {"software", content_hash("software", environment.at("software"))}};
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

double number_after(const std::string& file, const std::string& key, double otherwise) {
  const auto text = parts::field_in(file, key);
  return text ? std::strtod(text->c_str(), nullptr) : otherwise;
}

/// The bytes that the memory limit of one cgroup leaves; its page cache can be reclaimed.
double find_left_in_cgroup(const std::string& limit_file) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto limit = parts::number_in(limit_file);  // "max": no number
  if (!limit || *limit > 0x1p60) return unlimited;
  const std::string folder = limit_file.substr(0, limit_file.rfind('/'));
  const bool legacy = limit_file.ends_with("limit_in_bytes");
  const auto used =
      parts::number_in(folder + (legacy ? "/memory.usage_in_bytes" : "/memory.current"));
  const double cache =
      number_after(folder + "/memory.stat", legacy ? "total_inactive_file" : "inactive_file", 0);
  return std::max(0.0, *limit - (used.value_or(0) - cache));
}

}  // namespace

json capture_environment() {
  json environment = {{"host", host_name()},
                      {"hardware", parts::hardware()},
                      {"software", parts::software()},
                      {"volatile", parts::volatile_state()}};
  make_hashes(environment);
  return environment;
}

json capture_volatile() { return parts::volatile_state(); }

void add_software(json& environment, const std::string& backend, const json& versions) {
  environment.at("software")["libraries"][backend] = versions;
  make_hashes(environment);
}

void add_binaries(json& environment) {
  environment.at("software")["binaries"] = list_loaded_binaries();
  make_hashes(environment);
}

void keep_common_fields(json& software, json& other) {
  if (software.contains("binaries") && other.contains("binaries")) return;
  software.erase("binaries");
  other.erase("binaries");
}

int processors() {
  const std::size_t allowed = parts::list_allowed_processors().size();
  int count = allowed > 0 ? static_cast<int>(allowed)
                          : std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  // A thread beyond the quota would be stopped in the middle of a timing.
  if (const auto quota = parts::cpu_quota())
    count = std::min(count, std::max(1, static_cast<int>(std::floor(*quota))));
  return count;
}

std::size_t memory_available() {
  double available = number_after("/proc/meminfo", "MemAvailable", 0) * 1024;
  if (available == 0)
    available = static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) *
                static_cast<double>(::sysconf(_SC_PAGESIZE));
  for (const std::string& file :
       parts::cgroup_files("memory.max", "memory", "memory.limit_in_bytes"))
    available = std::min(available, find_left_in_cgroup(file));
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const double used = number_after("/proc/self/status", "VmSize", 0) * 1024;
    available = std::min(available, std::max(0.0, static_cast<double>(limit.rlim_cur) - used));
  }
  return static_cast<std::size_t>(available);
}

std::size_t cache_bytes() { return parts::last_cache_bytes(); }
std::size_t cache_bytes(const json& hardware) { return parts::last_cache_bytes(hardware); }

std::string system_name() {
  const char* name = std::getenv("ASSAY_SYSTEM");
  if (name != nullptr && *name != '\0') return name;
  const std::string host = host_name();
  return host.substr(0, host.find('.'));
}

}  // namespace assay
