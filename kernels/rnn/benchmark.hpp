#pragma once
// The benchmark of assay-rnn.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& rnn_benchmark();

}  // namespace assay
