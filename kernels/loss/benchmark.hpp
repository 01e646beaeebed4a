#pragma once
// The benchmark of assay-loss.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& loss_benchmark();

}  // namespace assay
