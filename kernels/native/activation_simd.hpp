#pragma once
// The inner loops of activations, for one thread, in the best instruction set of the processor.
// Elements are rows (pixels) of all channels, which follow each other without padding.

#include <cstddef>

#include "kernels/activation/function.hpp"
#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// The functions of one ActivationFunction f. Value: float, or double for fp64 tensors. `bias` has
/// one element for each channel; null: none.
template <class Value>
struct ActivationTable {
  const char* target;
  /// to = f(x + bias).
  void (*forward)(const void* x, const Value* bias, std::ptrdiff_t rows, std::ptrdiff_t channels,
                  void* to);
  /// to = diff f', of all but identity; sums += the same before it is rounded, unless `sums` is
  /// null. `from`: dst; of gelu x, to which `bias` is added; of identity not read.
  void (*backward)(const void* from, const Value* bias, const void* diff, std::ptrdiff_t rows,
                   std::ptrdiff_t channels, Value* sums, void* to);
};

/// The key is the type of the tensors.
const StorageTables<ActivationTable>& activation_tables(ActivationFunction function);

}  // namespace assay::native
