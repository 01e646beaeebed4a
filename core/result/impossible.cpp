#include "core/result/impossible.hpp"

#include <fmt/format.h>

#include "core/api/ceiling_problem.hpp"
#include "core/result/result_check.hpp"

namespace assay {

bool is_bounded(const Row& row) {
  return !is_ceiling_limited() || row.parameter("backend") == ceiling_backend();
}

std::optional<std::string> why_impossible(double median_s, const LeastTime& least) {
  // A time of 0 proves nothing if the run may be shorter than the resolution of the clock (0.5 us
  // for a GPU's events).
  constexpr double resolution = 1e-6;
  const bool below =
      median_s > 0 ? least.seconds >= impossible_from * median_s : least.seconds > resolution;
  if (!below) return std::nullopt;
  return fmt::format(
      "impossible: {:.3g} s, where the machine's {} allows no less than {:.3g} s (the row did not "
      "do its work, did it on more processors than it says, or its clock is wrong). Check the "
      "backend.",
      median_s, least.bound_by, least.seconds);
}

std::optional<double> count_operations_done(const Row& row) {
  const RowExecution execution = row.execution.value_or(RowExecution{});
  if (execution.algorithmic_flops) return execution.algorithmic_flops;
  if (saves_operations(execution.algorithm)) return std::nullopt;
  return row.problem.flops.value_or(0);
}

void take_back(Row& row, const std::string& reason) {
  row.status = "failed";
  row.reason = reason;
  row.time_s.reset();
  row.samples_s.clear();
  row.rates.clear();
  row.metrics.clear();
  row.epochs.clear();
  row.layers.clear();
  row.layers_sum.reset();
  row.baseline.reset();
  row.further_baselines.clear();
  row.baseline_reason.clear();
  row.energy_j.reset();
  row.energy_domains_j.clear();
  row.ceiling.reset();
  row.energy_reason = row.ceiling_reason = "the row has no time";
  if (row.execution) {
    row.execution->exposed_s.reset();
    row.execution->kernels_s.reset();
  }
}

}  // namespace assay
