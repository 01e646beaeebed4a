#pragma once
// The kernels that ran on the GPU, from CUPTI's activity records.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::cuda {

struct KernelTrace {
  std::vector<std::string> names;  ///< demangled, each once, in the order of their first run
  double seconds = 0;              ///< of all kernels together, by the GPU's time stamps
};

/// Runs `body` once and returns the kernels that ran on the GPU meanwhile. `body` must wait for the
/// work that it submits. Returns nothing if CUPTI is missing or cannot record (because another
/// profiler is attached); `body` has run even then. Recording makes launches slower, so timed runs
/// are never recorded. ASSAY_CUDA_TRACE=0 turns it off.
std::optional<KernelTrace> trace_kernels(const std::function<void()>& body);

/// The library "libcupti.so.13", or the reason why there is none, for the environment.
std::string tracer();

}  // namespace assay::cuda
