#pragma once
// A trial run of an operation before it is returned. Libraries refuse some problems only when they
// run, and the names of the kernels that ran are evidence for the arithmetic.

#include <optional>
#include <span>
#include <string>

#include "core/api/operation.hpp"
#include "kernels/cuda/kernel_names.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

/// "1.50 GiB"
std::string gib(std::size_t bytes);

/// Runs `operation`, after its prologue, on temporary memory. Returns the kernels that run()
/// started, with the median of their durations; nothing if they cannot be recorded. If `seconds` is
/// not null, the duration is that of the first run, because time_in_rounds() follows; if kernels
/// cannot be recorded, it is set to the time of a run, measured by events of a stream that was held
/// (0 if that was not possible). Throws CaseError if memory is short, with the needed and the free
/// bytes (`request` names the request), and the exceptions of prologue() and run().
std::optional<KernelMeaning> trial_run(CudaDevice& device, Operation& operation,
                                       const std::string& request, double* seconds = nullptr);

/// An operation that has made a trial run. All contenders take the same tensors, except for a
/// workspace behind them.
struct Contender {
  Operation* operation;
  bool recorded;   ///< by records of its kernels, else by events of a stream that is held
  double seconds;  ///< of a run, above 0
};

/// Times each contender once in every round. A drifting clock (a GPU that grows warm) would favour
/// some contenders if each were timed at once. Every second round has the reverse order, so the
/// median of an even number of rounds favours none at a steady drift. A contender that cannot be
/// timed again keeps its seconds. Throws like trial_run().
void time_in_rounds(CudaDevice& device, std::span<Contender> all, const std::string& request);

/// Writes to `execution` the arithmetic that the kernels prove. Returns the reason why they cannot
/// have the arithmetic of `precision`; "" if they can.
std::string note_kernels(const KernelMeaning& seen, Precision precision, Execution& execution);

}  // namespace assay::cuda
