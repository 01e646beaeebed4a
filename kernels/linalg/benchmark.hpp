#pragma once
// The benchmark of assay-linalg.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& linalg_benchmark();

}  // namespace assay
