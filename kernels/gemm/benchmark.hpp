#pragma once
// The benchmark of assay-gemm.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& gemm_benchmark();

/// The dimension `blas`, for all benchmarks with the backend blas: the BLAS library that it opens.
/// The id omits the default.
Dimension blas_library();
/// Sets the dimension to its default if another backend is chosen.
void settle_blas_library(Settings& settings);

}  // namespace assay
