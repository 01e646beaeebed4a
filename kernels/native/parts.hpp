#pragma once
// The common part of operations of the native backend.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/backend.hpp"
#include "core/api/precision.hpp"

namespace assay::native {

TensorSpec workspace(std::size_t bytes);

/// Allocates memory in pages of 2 MiB if the system has them (TensorSpec::memory). It is for
/// tensors so large that the processor's TLB does not cover their small pages. Null if the system
/// refuses.
std::shared_ptr<void> large_pages(std::size_t bytes);

/// The row's "executed" for an operation with the one algorithm `direct`: it computes in fp64 on
/// fp64 tensors, and in fp32 on all others. `target`: Highway's name of the instruction set.
Execution make_direct_execution(Precision precision, std::string_view target,
                                std::string_view layout);

/// Why no operation with the one algorithm `direct` supports a problem of this kind with these
/// options; nothing if one does.
std::optional<std::string> why_not_direct(const Problem& problem, const Options& options);

/// The maker of a `direct` operation of the problem P (see Maker): Own<double> for fp64, Own<float>
/// for all other precisions.
template <class P, template <class Value> class Own>
Result<std::unique_ptr<Operation>> make_direct(Device&, const Problem& what, const Options& options,
                                               Communicator&) {
  const P& problem = problem_cast<P>(what);
  if (auto why = why_not_direct(problem, options)) return Unsupported{std::move(*why)};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  const int threads = std::max(1, options.threads);
  if (problem.precision() == Precision::fp64)
    return std::make_unique<Own<double>>(problem, threads);
  return std::make_unique<Own<float>>(problem, threads);
}

}  // namespace assay::native
