#pragma once
// The levels of the memory hierarchy that may limit a row, and the working set with which the
// bandwidth of each is measured. Innermost level first; index levels.size() stands for main memory.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

struct CacheLevel {
  std::string name;  ///< "L1"
  double bytes = 0;  ///< capacity: sum of the instances that the threads can fill
};

/// The data caches of a processor, from "hardware" of an environment. Inner levels count at most
/// one instance per thread, because data in another core's cache come through the outer levels; the
/// last level counts all instances. A level that is not larger than the next inner one is left out,
/// because it adds no capacity. Empty if the machine does not report its caches.
std::vector<CacheLevel> cache_levels(const nlohmann::json& hardware, int threads);

/// The cache that all processors of a device share, as its backend reports it. The inner caches are
/// empty at the start of each kernel, so all data of a run come through the shared cache.
std::vector<CacheLevel> device_levels(const nlohmann::json& software);

/// The innermost level with a capacity of at least `bytes`.
std::size_t find_level(double bytes, const std::vector<CacheLevel>& levels);
/// "L2", "memory".
std::string level_name(std::size_t level, const std::vector<CacheLevel>& levels);

/// The bytes that a run with a working set of `bytes` must read at least from `level` or beyond:
/// those that the inner levels cannot hold between two runs.
double bytes_from(std::size_t level, double bytes, const std::vector<CacheLevel>& levels);

/// The working set with which the bandwidth of `level` is measured. It fits into `level`, and the
/// inner levels hold little of it: it is four times their capacity or, if that does not fit, the
/// mean of the two capacities.
double probe_bytes(std::size_t level, const std::vector<CacheLevel>& levels);

/// The levels that may limit a row whose data are hot: the innermost level that holds the data, and
/// the next inner level. The latter may limit it, too, because only the data that do not fit into
/// it come from the former.
std::vector<std::size_t> bounding_levels(double bytes, const std::vector<CacheLevel>& levels);

}  // namespace assay
