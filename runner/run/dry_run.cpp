#include "runner/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "analysis/text_table.hpp"
#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/measure/timing.hpp"
#include "core/result/baseline.hpp"
#include "runner/ceilings/ceiling_bracket.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/progress.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Warm-up takes at most a fifth of the timed iterations (core/measure/timing.hpp).
constexpr double with_warm_up = 1.2;
/// Ceilings are measured at least before the first and after the last case.
constexpr int brackets = 2;

/// The benchmarks with their cases; they list these in a temporary folder.
std::vector<PlannedBenchmark> plan_cases(RunPlan plan) {
  prepare_parent();
  const Temporary scratch = make_scratch_folder();
  plan.campaign.folder = scratch.path();
  std::filesystem::create_directories(scratch.path() / "log");
  return plan_benchmarks(plan);
}

double compute_max_time(const RunPlan& plan) {
  return plan.timing.max_time.value_or(plan.suite_settings.timing.max_time);
}

struct Preview {
  std::string text;
  double timed_seconds = 0;
  CeilingPlan ceilings;
};

Preview make_preview(RunPlan plan, const json& hardware) {
  FinishedCases finished;
  if (const auto journal = plan.campaign.journal();
      plan.resume && std::filesystem::exists(journal)) {
    const RunRecord earlier = read_run(journal);
    recall(plan, earlier);
    finished = check_finished(plan, earlier);
  }
  const std::vector<PlannedBenchmark> benchmarks = plan_cases(plan);
  std::size_t cases = 0;
  for (const PlannedBenchmark& benchmark : benchmarks) cases += benchmark.cases.size();
  const std::size_t all = cases * static_cast<std::size_t>(plan.campaign.launches);
  const std::size_t rows = all - std::min(all, finished.size());
  Preview preview;
  preview.text =
      fmt::format("suite {}: {} x {} = {}{}\n", plan.suite_name, format_count(cases, "case"),
                  format_count(static_cast<std::size_t>(plan.campaign.launches), "launch", "es"),
                  format_count(all, "row"),
                  rows == all ? "" : fmt::format(", {} of them without a result", rows));
  for (const PlannedBenchmark& benchmark : benchmarks)
    preview.text +=
        fmt::format("  {} of assay-{}: {}\n", format_count(benchmark.cases.size(), "case"),
                    benchmark.name, join(make_start(benchmark, plan.campaign), " "));
  preview.timed_seconds = with_warm_up * static_cast<double>(rows) * compute_max_time(plan);
  preview.text += fmt::format(
      "  timing: about {} ({} x {:g} s of max-time, plus a fifth of that for warm-up)\n",
      format_rough_time(preview.timed_seconds), format_count(rows, "row"), compute_max_time(plan));
  if (plan.ceilings) preview.ceilings = ceiling_plan(benchmarks, hardware);
  return preview;
}

/// The effect of --walltime on a run of this many seconds.
std::string describe_deadline(std::chrono::steady_clock::time_point deadline, double seconds) {
  const double left = -seconds_since(deadline);
  return fmt::format("walltime: the run ends after {} at the latest{}.\n", format_rough_time(left),
                     seconds > left ? ", before its last cases; --resume continues it" : "");
}

}  // namespace

std::string list_cases(RunPlan plan) {
  std::string text;
  for (const PlannedBenchmark& benchmark : plan_cases(std::move(plan)))
    for (const Case& planned : benchmark.cases)
      text += planned.id + (planned.names.empty() ? "" : "  " + join(planned.names, ",")) + "\n";
  return text;
}

std::string dry_run(std::vector<RunPlan> plans) {
  for (const RunPlan& plan : plans)
    for (const std::string& name : plan.baselines) Baseline::load(name);  // throws, as a run would
  const auto deadline = plans.front().campaign.deadline;
  const json hardware = ResultEnvironment(capture_environment()).hardware;
  std::string text;
  double seconds = 0;
  CeilingPlan ceilings;
  for (RunPlan& plan : plans) {
    const std::string label = plan.campaign.label;
    const Preview preview = make_preview(std::move(plan), hardware);
    text += label + preview.text;
    seconds += preview.timed_seconds;
    add(ceilings, preview.ceilings);
  }
  if (!ceilings.empty()) {
    const double bracket = with_warm_up * assay::sum_timed_seconds(ceilings);
    text += fmt::format(
        "ceilings: {} ({} times {}, and again between launches, a tenth of the "
        "run at most)\n",
        format_rough_time(brackets * bracket + seconds / 10), brackets, format_rough_time(bracket));
    seconds += brackets * bracket + seconds / 10;
  }
  text += fmt::format(
      "estimated time: about {} for timed iterations. Starting, set-up and verification of each "
      "case take additional time, which is not estimated. A case ends earlier when its interval "
      "reaches precision-target, later when min-samples samples take longer than "
      "max-time.\n",
      format_rough_time(seconds));
  if (deadline) text += describe_deadline(*deadline, seconds);
  return text + "Nothing was run.\n";
}

}  // namespace assay
