#pragma once
// The benchmark of assay-sum.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& sum_benchmark();

}  // namespace assay
