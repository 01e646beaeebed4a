#pragma once
// The benchmark of assay-gemm.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& gemm_benchmark();

}  // namespace assay
