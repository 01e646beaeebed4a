#pragma once
// The benchmark of assay-train.

#include "core/program/benchmark.hpp"

namespace assay {

const Benchmark& train_benchmark();

}  // namespace assay
