#pragma once
// The benchmark of assay-squared-error.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& squared_error_benchmark();

}  // namespace assay
