#pragma once
// The names of the kernels that really ran, by CUPTI's activity records.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::cuda {

/// Runs `body`, which waits for what it submits, once, and returns the names of all kernels that
/// ran on the GPU meanwhile, demangled, in order, each once. Nothing where CUPTI is not there or
/// refuses (another profiler is attached): `body` has run all the same. Recording slows launches
/// down, so it is never on while something is timed. ASSAY_CUDA_TRACE=0 switches it off.
std::optional<std::vector<std::string>> traced_kernels(const std::function<void()>& body);

/// "libcupti.so.13", or why there is none: for the environment.
std::string tracer();

}  // namespace assay::cuda
