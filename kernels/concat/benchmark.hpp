#pragma once
// The benchmark of assay-concat.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& concat_benchmark();

}  // namespace assay
