#pragma once
// The benchmark of assay-convert.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& convert_benchmark();

}  // namespace assay
