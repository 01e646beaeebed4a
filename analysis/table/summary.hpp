#pragma once
// `assay table NAME` of a summary: the speedups of systems over others by category of workloads.
// A summary is a file in results-schema/summaries/.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// Names of the shipped summaries.
std::vector<std::string> summary_names();
/// A shipped summary, checked against summary.schema.json.
nlohmann::json read_summary(const std::string& name);

/// For each workload and each pair of a result and a baseline the geometric mean of the speedups of
/// its problems, and for each category the geometric mean of its workloads, beside the speedups
/// that the summary's source prints. Of each problem the fastest rows of both sides count, as far
/// as they are comparable (Baseline::match). If a workload of a category has no speedup, the
/// category has no mean, since a mean of the others would look like that of the whole category.
std::string summary_table(const nlohmann::json& summary, const std::vector<NamedResult>& results,
                          const std::vector<Baseline>& baselines, bool markdown);

}  // namespace assay
