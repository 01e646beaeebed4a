#pragma once
// The inner loops of the update of parameters, for one thread, in the best instruction set of the
// processor.

#include <cstddef>

#include "kernels/update/step.hpp"
#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Sums over some parameters.
struct UpdateSums {
  double gradient = 0, weights = 0;  ///< squares
  double not_finite = 0, zeros = 0;  ///< elements of the gradient
};

template <class Value>
struct UpdateTable {
  const char* target;
  /// `count` is at most 1024, because squares are added in Value.
  void (*sums)(const Value* gradient, const Value* weights, std::ptrdiff_t count, UpdateSums& to);
  /// stored = the new weights in 16 bits, unless it is null. Returns the number of weights that did
  /// not change although their step is not 0. The key is UpdateLoop; `second` is null for momentum.
  std::ptrdiff_t (*update[3])(const Value* gradient, std::ptrdiff_t count,
                              const UpdateStep<Value>& step, Value* weights, Value* velocity,
                              Value* second, void* stored);
  /// The r of UpdateLoop::moments, from the moments that `update` would compute.
  void (*directions)(const Value* gradient, std::ptrdiff_t count, const UpdateStep<Value>& step,
                     const Value* weights, const Value* velocity, const Value* second, Value* to);
  void (*store)(const Value* weights, std::ptrdiff_t count, void* stored);
};

/// The key is the type of the 16-bit copies of weights (bf16, fp16) or, without copies, the type of
/// the weights.
const StorageTables<UpdateTable>& update_tables();

}  // namespace assay::native
