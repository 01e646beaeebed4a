#pragma once
// The inner loops of resizing, for one thread, in the best instruction set of the processor.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// One axis: output i is the sum of inputs first[i], first[i] + 1, … first[i] + count[i] - 1, each
/// with its weight, weights[i * taps + k].
template <class Value>
struct ResizeAxis {
  std::ptrdiff_t inputs = 0, outputs = 0;
  std::ptrdiff_t taps = 1;              ///< the most inputs of an output
  std::vector<std::ptrdiff_t> first{};  ///< of each output
  std::vector<std::ptrdiff_t> count{};
  std::vector<Value> weights{};
};

/// Value: float, or double for fp64 activations.
template <class Value>
struct ResizeTable {
  /// An index type as wide as an element.
  using Index = std::conditional_t<std::is_same_v<Value, double>, std::int64_t, std::int32_t>;
  const char* target;
  /// Row y of the outputs, for some channels: to = the weighted sum of a rectangle of pixels.
  /// Pixels of inputs and of outputs are `pixel` elements apart.
  void (*add_pixels)(const void* from, const ResizeAxis<Value>& down,
                     const ResizeAxis<Value>& along, std::ptrdiff_t y, std::ptrdiff_t pixel,
                     std::ptrdiff_t channels, void* to);
  /// to[x] = the weighted sum of `rows` rows, which are `width` elements apart.
  void (*add_rows)(const void* from, std::ptrdiff_t rows, const Value* weights,
                   std::ptrdiff_t width, Value* to);
  /// to[i] = the sum over k < taps of weights[k * count + i] * from[first[i] + k].
  void (*add_columns)(const Value* from, const Index* first, const Value* weights,
                      std::ptrdiff_t taps, std::ptrdiff_t count, void* to);
};

/// The key is the type of the activations.
const StorageTables<ResizeTable>& resize_tables();

}  // namespace assay::native
