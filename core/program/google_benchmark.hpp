#pragma once
// The rows of a program as the JSON of Google Benchmark, which its compare.py and dashboards read.

#include <string>
#include <vector>

#include "core/result/row.hpp"

namespace assay {

/// The document that Google Benchmark's own reporter writes for `rows`. A row that is ok has a run
/// with its id: real_time is the median, the counters are the rates. If it has several samples,
/// their mean, median and standard deviation follow. Assay measures no CPU time: cpu_time is 0. Any
/// other row has `error_occurred` and its reason, and no time.
std::string render_google_benchmark_json(const std::string& program, const std::vector<Row>& rows);

}  // namespace assay
