#pragma once
// The levels of memory that a row's data may come from, and the working set that measures each.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

struct CacheLevel {
  std::string name;  ///< "L1"
  double bytes = 0;  ///< of all instances that the threads can fill
};

/// Of a machine's "hardware", innermost first: data caches, an inner level with one instance a
/// thread at most (what another core's cache holds comes through the levels outside of it), the
/// last with all of them. A level that is not larger than the one inside of it holds nothing of its
/// own and is left out. Empty where the machine does not tell its caches.
std::vector<CacheLevel> cache_levels(const nlohmann::json& hardware, int threads);

/// Of a device, by what its backend tells of it: the cache that all of its processors share. Those
/// inside of it begin each kernel empty, so that whatever a run needs comes through this one.
std::vector<CacheLevel> device_levels(const nlohmann::json& told);

/// The innermost level that holds so much: an index into `levels`, their number for memory.
std::size_t level_of(double bytes, const std::vector<CacheLevel>& levels);
/// "L2", "memory".
std::string level_name(std::size_t level, const std::vector<CacheLevel>& levels);

/// What a run of so many bytes must bring from `level` or from outside of it, whatever is kept
/// inside of it between two runs.
double bytes_from(std::size_t level, double bytes, const std::vector<CacheLevel>& levels);

/// Bytes to read over and over that lie in `level`, of which the levels inside of it keep little:
/// four times what they hold, or halfway between both where there is no room for that.
double probe_bytes(std::size_t level, const std::vector<CacheLevel>& levels);

/// The levels that may bound a row whose data are hot: the one that holds them, and, where that is
/// needed for a small part of them alone, the one inside of it.
std::vector<std::size_t> bounding_levels(double bytes, const std::vector<CacheLevel>& levels);

}  // namespace assay
