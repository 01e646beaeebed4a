#pragma once
// The benchmark of assay-svm.

#include "models/analytics/analytics_benchmark.hpp"

namespace assay {

const AnalyticsBenchmark& svm_benchmark();

}  // namespace assay
