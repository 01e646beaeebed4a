#pragma once
// The benchmark of assay-dropout.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& dropout_benchmark();

}  // namespace assay
