#pragma once
// The benchmark of assay-copy.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& copy_benchmark();

}  // namespace assay
