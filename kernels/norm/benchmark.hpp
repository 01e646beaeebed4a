#pragma once
// The benchmark of assay-norm.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& norm_benchmark();

}  // namespace assay
