#include "runner/ceilings/cache_levels.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An entry of "caches" in "hardware".
struct Cache {
  int level = 0, count = 0;
  std::string type{};
  double bytes = 0;
};

void visit_fields(SameAs<Cache> auto& cache, auto& fields) {
  fields.always("level", cache.level, "type", cache.type, "bytes", cache.bytes, "count",
                cache.count);
}

}  // namespace

std::vector<CacheLevel> cache_levels(const json& hardware, int threads) {
  std::map<int, std::vector<std::pair<double, int>>> caches;  // bytes and instances by level
  for (const json& document : hardware.value("caches", json::array())) {
    Cache cache;
    read_fields(document, cache);
    if (cache.type != "instruction") caches[cache.level].emplace_back(cache.bytes, cache.count);
  }
  std::vector<CacheLevel> levels;
  for (auto& [level, kinds] : caches) {
    const bool last = level == caches.rbegin()->first;
    std::sort(kinds.rbegin(), kinds.rend());  // with two kinds of cores, the larger caches are the
                                              // bound
    double bytes = 0;
    int left = threads;
    for (const auto& [each, count] : kinds) {
      const int used = last ? count : std::min(count, left);
      bytes += each * used;
      left -= used;
    }
    if (levels.empty() || bytes > levels.back().bytes)
      levels.push_back({"L" + std::to_string(level), bytes});
  }
  return levels;
}

std::vector<CacheLevel> device_levels(const json& software) {
  const json bytes = software.value("l2_bytes", json());
  if (!bytes.is_number() || bytes == 0) return {};
  return {{"L2", bytes.get<double>()}};
}

std::size_t find_level(double bytes, const std::vector<CacheLevel>& levels) {
  const auto holds = [&](const CacheLevel& level) { return bytes <= level.bytes; };
  return static_cast<std::size_t>(std::find_if(levels.begin(), levels.end(), holds) -
                                  levels.begin());
}

std::string level_name(std::size_t level, const std::vector<CacheLevel>& levels) {
  return level < levels.size() ? levels[level].name : "memory";
}

double bytes_from(std::size_t level, double bytes, const std::vector<CacheLevel>& levels) {
  return std::max(0.0, bytes - (level > 0 ? levels[level - 1].bytes : 0));
}

double probe_bytes(std::size_t level, const std::vector<CacheLevel>& levels) {
  if (level == 0) return levels[0].bytes / 2;
  const double inner = levels[level - 1].bytes;
  if (level == levels.size()) return 4 * inner;
  return std::min(4 * inner, (inner + levels[level].bytes) / 2);
}

std::vector<std::size_t> bounding_levels(double bytes, const std::vector<CacheLevel>& levels) {
  const std::size_t holds = find_level(bytes, levels);
  if (holds == 0) return {0};
  return {holds - 1, holds};
}

}  // namespace assay
