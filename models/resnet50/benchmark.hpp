#pragma once
// The benchmark of assay-resnet50.

#include "core/program/benchmark.hpp"

namespace assay {

const Benchmark& resnet50_benchmark();

}  // namespace assay
