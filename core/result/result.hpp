#pragma once
// Rows and result files ("assay-result/1"), whose format is results-schema/result.schema.json.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/case.hpp"
#include "core/measure/outcome.hpp"
#include "core/result/marks.hpp"
#include "core/result/row.hpp"
#include "core/result/run_header.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// Makes the row of a case, without "baseline" (see baseline.hpp). A row that is incorrect keeps
/// its verification, but has no time and no rate: a wrong number is never reported as a result.
/// `problem`: null if the workload is not a single problem. `environment`: index of the environment
/// in the result.
Row make_row(const std::string& benchmark, const Case& benchmark_case, const Problem* problem,
             const Outcome& outcome, int environment, int launch, int attempt, int ranks,
             int nodes);

/// Makes a result of this system, without rows.
RunResult make_result(const RunHeader& header);
/// The header of a run of this version. If `id` is empty, makes one of time and process.
RunHeader make_header(const std::string& id, const std::string& suite, const std::string& command,
                      std::uint64_t seed, const std::string& started);

/// The exit code for these rows. Rows that are unsupported, but `required`, count as failed.
ExitCode exit_code(const std::vector<Row>& rows);

/// The ids of the cases that are ok in one launch and unsupported in the last attempt of another.
std::set<std::string> list_lost_ids(const std::vector<Row>& rows);

/// A value of a row's "metrics" with six significant digits and its unit ("0.97", "1.2e+07 J");
/// seconds and bytes as everywhere, with a prefix: "133 µs", "9.80 MB".
std::string format_metric(const RowMetric& metric);

}  // namespace assay
