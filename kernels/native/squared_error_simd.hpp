#pragma once
// The squared error of one sample, for one thread, in the best instruction set of the processor.

#include <cstddef>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Sums over the features of a sample, in fp64: of (x - t)^2, dx^2, dt^2 and dx dt, where dx = x -
/// mean x and dt = t - mean t.
struct ErrorSums {
  double squares, xx, tt, xt;
};

/// Value: float, or double for fp64 outputs.
template <class Value>
struct SquaredErrorTable {
  const char* target;
  ErrorSums (*sum)(const void* outputs, const void* targets, std::ptrdiff_t features);
  /// to = by (outputs - targets).
  void (*gradients)(const void* outputs, const void* targets, std::ptrdiff_t features, Value by,
                    void* to);
};

/// The key is the type of the outputs.
const StorageTables<SquaredErrorTable>& squared_error_tables();

}  // namespace assay::native
