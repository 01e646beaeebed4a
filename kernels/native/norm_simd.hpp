#pragma once
// The inner loops of batch normalization, for one thread, in the best instruction set of the
// processor. A row (pixel) has the elements of all channels; rows are adjacent, without padding.

#include <cstddef>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Value: float, or double for fp64 activations. All arrays but activations have one element for
/// each channel.
template <class Value>
struct NormTable {
  const char* target;
  /// sums += x, squares += (x - pivot)^2, over `rows`.
  void (*statistics)(const void* x, std::ptrdiff_t rows, std::ptrdiff_t channels,
                     const Value* pivot, Value* sums, Value* squares);
  /// y = factor (x - mean) + shift + addend (null: no addend); with `relu`, its positive part.
  void (*normalize)(const void* x, const void* addend, std::ptrdiff_t rows, std::ptrdiff_t channels,
                    const Value* factor, const Value* mean, const Value* shift, bool relu, void* y);
  /// With g = diff where dst > 0 (everywhere if dst is null), else 0: sums += g, products += g (x -
  /// mean), and passed = g unless it is null.
  void (*gradient_sums)(const void* x, const void* dst, const void* diff, std::ptrdiff_t rows,
                        std::ptrdiff_t channels, const Value* mean, Value* sums, Value* products,
                        void* passed);
  /// to = factor g + slope (x - mean) + offset, with g as above.
  void (*gradients)(const void* x, const void* dst, const void* diff, std::ptrdiff_t rows,
                    std::ptrdiff_t channels, const Value* mean, const Value* factor,
                    const Value* slope, const Value* offset, void* to);
};

/// The key is the type of the activations.
const StorageTables<NormTable>& norm_tables();

}  // namespace assay::native
