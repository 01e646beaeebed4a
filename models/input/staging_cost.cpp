#include "models/input/staging_cost.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr double allowed_ratio = 0.005;  // beside 1
constexpr double rounding = 1e-9;        // of sums beyond 2^53

}  // namespace

double staging_read_ratio(const StagingCost& cost) {
  return cost.staged_bytes > 0 ? cost.read_bytes / cost.staged_bytes : 1;
}

std::string fault_of_staging(const StagingCost& cost) {
  const double ratio = staging_read_ratio(cost);
  if (!(std::abs(ratio - 1) < allowed_ratio))
    return fmt::format(
        "the nodes have read {:.0f} bytes of shared files to stage {:.0f} (ratio {:.2f}, not "
        "1.00): not each file once",
        cost.read_bytes, cost.staged_bytes, ratio);
  if (std::abs(cost.kept_bytes - cost.lacking_bytes) > rounding * cost.lacking_bytes)
    return fmt::format("the nodes have kept {:.0f} bytes of the {:.0f} that they lacked",
                       cost.kept_bytes, cost.lacking_bytes);
  return "";
}

std::map<std::string, Metric> staging_metrics(const StagingCost& cost) {
  std::map<std::string, Metric> metrics = {{"stage_s", {cost.seconds, "s", "lower"}},
                                           {"stage_set_bytes", {cost.set_bytes, "B", ""}},
                                           {"stage_bytes", {cost.staged_bytes, "B", ""}},
                                           {"stage_replaced_files", {cost.replaced_files, "", ""}}};
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
