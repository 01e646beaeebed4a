#pragma once
// The benchmark of assay-pca.

#include "models/analytics/analytics_benchmark.hpp"

namespace assay {

const AnalyticsBenchmark& pca_benchmark();

}  // namespace assay
