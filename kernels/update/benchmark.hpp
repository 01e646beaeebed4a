#pragma once
// The benchmark of assay-update.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& update_benchmark();

}  // namespace assay
