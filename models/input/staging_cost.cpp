#include "models/input/staging_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double allowed_part = 0.005;  // beside 1
constexpr double allowed_bytes = 4096;  // of a node: a C library may read a file of the system
constexpr double rounding = 1e-9;       // of sums beyond 2^53

}  // namespace

double staging_read_ratio(const StagingCost& cost) {
  return cost.staged_bytes > 0 ? cost.read_bytes / cost.staged_bytes : 1;
}

StagingCost of_later_row(const StagingCost& cost) {
  StagingCost none;
  none.nodes = cost.nodes;
  none.set_bytes = cost.set_bytes;
  return none;
}

std::string find_fault_of_staging(const StagingCost& cost) {
  const double allowed = std::min(allowed_part * cost.staged_bytes, allowed_bytes * cost.nodes);
  if (!(std::abs(cost.read_bytes - cost.staged_bytes) <= allowed))
    return fmt::format(
        "the nodes have read {:.0f} bytes of shared files to stage {:.0f} (ratio {:.2f}): not each "
        "file once",
        cost.read_bytes, cost.staged_bytes, staging_read_ratio(cost));
  if (std::abs(cost.kept_bytes - cost.lacking_bytes) > rounding * cost.lacking_bytes)
    return fmt::format("the nodes have kept {:.0f} bytes of the {:.0f} that they lacked",
                       cost.kept_bytes, cost.lacking_bytes);
  return "";
}

std::map<std::string, Metric> staging_metrics(const StagingCost& cost) {
  std::map<std::string, Metric> metrics = {{"stage_set_bytes", {cost.set_bytes, "B", ""}},
                                           {"stage_bytes", {cost.staged_bytes, "B", ""}},
                                           {"stage_replaced_files", {cost.replaced_files, "", ""}}};
  if (cost.seconds > 0) metrics["stage_s"] = {cost.seconds, "s", "lower"};
  const auto rate = [&](const char* name, double bytes, double seconds) {
    if (bytes > 0 && seconds > 0) metrics[name] = {bytes / seconds, "B/s", "higher"};
  };
  rate("stage_read_bytes_per_s", cost.read_bytes, cost.read_s);
  rate("stage_passed_bytes_per_s", cost.passed_bytes, cost.pass_s);
  rate("stage_kept_bytes_per_s", cost.kept_bytes, cost.keep_s);
  if (cost.staged_bytes == 0) return metrics;
  metrics["stage_read_ratio"] = {staging_read_ratio(cost), "", ""};
  metrics["stage_device_ratio"] = {cost.device_bytes / cost.staged_bytes, "", ""};
  if (std::isfinite(cost.cached_bytes))
    metrics["stage_cached_percent"] = {100 * cost.cached_bytes / cost.staged_bytes, "%", ""};
  return metrics;
}

}  // namespace assay
