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
  /// x = logits + bias; their largest and their sum.
  void (*add_bias)(const void* logits, const Value* bias, std::ptrdiff_t classes, Value* x,
                   Value* largest, Value* sum);
  /// x = exp(x - largest), no number where x - largest is none; returns the sum.
  Value (*exponentials)(std::ptrdiff_t classes, Value largest, Value* x);
  /// g = by (x / sum - part); to = g, and of_bias += g before it is rounded.
  void (*gradients)(const Value* x, std::ptrdiff_t classes, Value sum, Value part, Value by,
                    void* to, Value* of_bias);
};

/// Of logits stored in fp32, bf16 or fp16 (float), or fp64 (double).
const StorageTables<LossTable>& loss_tables();

}  // namespace assay::native
