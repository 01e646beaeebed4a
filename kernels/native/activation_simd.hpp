#pragma once
// The inner loops of activations, for one thread, in the best instruction set of the processor. A
// row (pixel) has the elements of all channels; rows are adjacent, without padding.

#include <cstddef>

#include "kernels/activation/function.hpp"
#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// The functions of one ActivationFunction f. Value: float, or double for fp64 tensors. `bias` has
/// one element for each channel; null: no bias.
template <class Value>
struct ActivationTable {
  const char* target;
  /// to = f(x + bias).
  void (*forward)(const void* x, const Value* bias, std::ptrdiff_t rows, std::ptrdiff_t channels,
                  void* to);
  /// to = diff f', for all functions but identity; sums += the same before rounding, unless `sums`
  /// is null. `from`: dst; for gelu x, to which `bias` is added; for identity not read.
  void (*backward)(const void* from, const Value* bias, const void* diff, std::ptrdiff_t rows,
                   std::ptrdiff_t channels, Value* sums, void* to);
};

/// The key is the type of the tensors.
const StorageTables<ActivationTable>& activation_tables(ActivationFunction function);

}  // namespace assay::native
