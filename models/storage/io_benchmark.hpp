#pragma once
// The benchmark of assay-io.

#include "core/program/benchmark.hpp"

namespace assay {

const Benchmark& io_benchmark();

}  // namespace assay
