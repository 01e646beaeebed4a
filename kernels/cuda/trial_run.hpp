#pragma once
// A trial run of an operation before it is returned. Libraries refuse some problems only when they
// run, and the names of the kernels that ran are evidence for the arithmetic.

#include <optional>
#include <string>

#include "core/api/operation.hpp"
#include "kernels/cuda/kernel_names.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// "1.50 GiB"
std::string gib(std::size_t bytes);

/// Runs `operation`, after its prologue, on temporary memory. Returns the kernels that run()
/// started; nothing if they cannot be recorded. Unless `seconds` is null, it is set in that case to
/// the time of a run, measured by events of a stream that was held; 0 if that was not possible.
/// Throws CaseError if memory is short, with the needed and the free bytes (`request` names the
/// request), and the exceptions of prologue() and run().
std::optional<KernelMeaning> trial_run(CudaDevice& device, Operation& operation,
                                       const std::string& request, double* seconds = nullptr);

/// Writes to `executed` the arithmetic that the kernels prove. Returns the reason why they cannot
/// have the arithmetic of `precision`; "" if they can.
std::string note_kernels(const KernelMeaning& seen, Precision precision, Execution& execution);

}  // namespace assay::cuda
