#pragma once
// The benchmark of assay-resize.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& resize_benchmark();

}  // namespace assay
