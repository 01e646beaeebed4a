#pragma once
// The inner loops of softmax cross-entropy, for one sample and one thread, in the best instruction
// set of the processor.

#include <cstddef>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Value: float, or double for fp64 logits.
template <class Value>
struct LossTable {
  const char* target;
  /// x = logits + bias; returns the largest x and the sum of x.
  void (*add_bias)(const void* logits, const Value* bias, std::ptrdiff_t classes, Value* x,
                   Value* largest, Value* sum);
  /// x = exp(x - largest), NaN if x - largest is NaN; returns the sum.
  Value (*exponentials)(std::ptrdiff_t classes, Value largest, Value* x);
  /// With g = by (x / sum - part): to = g, rounded to the type of the logits, and of_bias += g, not
  /// rounded.
  void (*gradients)(const Value* x, std::ptrdiff_t classes, Value sum, Value part, Value by,
                    void* to, Value* of_bias);
};

/// The key is the type of the logits.
const StorageTables<LossTable>& loss_tables();

}  // namespace assay::native
