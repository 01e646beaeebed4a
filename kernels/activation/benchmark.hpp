#pragma once
// The benchmark of assay-activation.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& activation_benchmark();

}  // namespace assay
