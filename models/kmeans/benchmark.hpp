#pragma once
// The benchmark of assay-kmeans.

#include "models/analytics/analytics_benchmark.hpp"

namespace assay {

const AnalyticsBenchmark& kmeans_benchmark();

}  // namespace assay
