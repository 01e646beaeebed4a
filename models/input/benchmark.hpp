#pragma once
// The benchmark of assay-input.

#include "core/program/benchmark.hpp"

namespace assay {

const Benchmark& input_benchmark();

}  // namespace assay
