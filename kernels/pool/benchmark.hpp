#pragma once
// The benchmark of assay-pool.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& pool_benchmark();

}  // namespace assay
