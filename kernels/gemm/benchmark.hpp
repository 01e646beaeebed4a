#pragma once
// The benchmark of assay-gemm.

#include "core/program/benchmark.hpp"

namespace assay {

const OperationBenchmark& gemm_benchmark();

/// The library that the backend blas opens, for every benchmark that it computes; ids leave out the
/// default.
Dimension blas_library();
/// Other backends open none: theirs is the default.
void settle_blas_library(Settings& settings);

}  // namespace assay
