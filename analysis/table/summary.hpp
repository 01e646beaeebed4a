#pragma once
// `assay table NAME` of a summary: the speedups of systems over others by category of workloads.
// A summary is a file in results-schema/summaries/, described by summary.schema.json.

#include <string>
#include <vector>

#include "analysis/table/axes.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// A speedup as the summary's source prints it.
struct PrintedSpeedup {
  std::string system, over, text;
};
struct SummaryWorkload {
  std::string name;
  Texts benchmarks;
  Texts apart{};  ///< parameters whose values count as separate problems
  std::vector<PrintedSpeedup> printed{};
};
struct SummaryCategory {
  std::string name;
  std::vector<SummaryWorkload> workloads;
  std::vector<PrintedSpeedup> printed{};
};
struct SpeedupSummary {
  std::string description, source;
  Texts systems, baselines;  ///< used if the command names none
  std::vector<SummaryCategory> categories;
};

/// Names of the shipped summaries.
Texts list_summary_names();
/// A shipped summary. InputError if it does not follow summary.schema.json.
SpeedupSummary read_summary(const std::string& name);

/// Computes the geometric mean of the speedups of the problems of each workload, for each pair of a
/// result and a baseline, and the geometric mean of the workloads of each category, beside the
/// speedups that the summary's source prints. For each problem, the fastest comparable rows of both
/// sides count (Baseline::match). If a workload of a category has no speedup, the category has no
/// mean, because a mean of the others would look like that of the whole category.
std::string render_summary_table(const SpeedupSummary& summary, const Results& results,
                                 const std::vector<Baseline>& baselines, const std::string& format);

}  // namespace assay
