#pragma once
// The benchmark of assay-conv.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& conv_benchmark();

}  // namespace assay
