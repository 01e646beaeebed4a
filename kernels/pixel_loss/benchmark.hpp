#pragma once
// The benchmark of assay-pixel-loss.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& pixel_loss_benchmark();

}  // namespace assay
