#pragma once
// The benchmark of assay-stream.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& stream_benchmark();

}  // namespace assay
