#pragma once
// The inner loops of the update of parameters, for one thread, in the best instruction set of the
// processor.

#include <cstddef>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Sums over some parameters.
struct UpdateSums {
  double gradient = 0, weights = 0;  ///< squares
  double not_finite = 0, zeros = 0;  ///< elements of the gradient
};

/// The update of one parameter: v = momentum v + of_gradient g + of_weight w, w -= of_velocity v.
template <class Value>
struct UpdateStep {
  Value momentum, of_gradient, of_weight, of_velocity;
};

template <class Value>
struct UpdateTable {
  const char* target;
  /// `count` at most 1024: squares are added in Value.
  void (*sums)(const Value* gradient, const Value* weights, std::ptrdiff_t count, UpdateSums& to);
  /// stored = the new weights in 16 bits, unless it is null. Returns how many weights did not
  /// change although of_velocity v is not 0.
  std::ptrdiff_t (*update)(const Value* gradient, std::ptrdiff_t count,
                           const UpdateStep<Value>& step, Value* weights, Value* velocity,
                           void* stored);
  /// stored = weights in 16 bits.
  void (*store)(const Value* weights, std::ptrdiff_t count, void* stored);
};

/// By the type of the 16-bit copies of weights (bf16, fp16), or of the weights without copies.
const StorageTables<UpdateTable>& update_tables();

}  // namespace assay::native
