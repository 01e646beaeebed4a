#pragma once
// The inner loops of pooling, for one thread, in the best instruction set of the processor. The
// elements of all channels of a pixel are adjacent; pixels are `channels` apart.

#include <cstddef>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// The pixels of a window (or the windows of a pixel), relative to one pixel's first channel.
struct PoolPixels {
  const std::ptrdiff_t* offsets;
  int count;
};

/// Value: float, or double for fp64 activations.
template <class Value>
struct PoolTable {
  const char* target;
  /// to = the largest of the pixels. Unless `where` is null, where = its index among them; the
  /// first of equal ones.
  void (*largest)(const void* from, PoolPixels pixels, std::ptrdiff_t channels, void* to,
                  Value* where);
  /// to = factor times the sum of the pixels.
  void (*mean)(const void* from, PoolPixels pixels, std::ptrdiff_t channels, Value factor,
               void* to);
  /// to = the sum of the gradients of the windows whose largest element is this pixel. The pixel
  /// has the index number[i] in window i; the index of the window's largest element is at where +
  /// places[i].
  void (*gather)(const void* from, PoolPixels windows, const Value* where,
                 const std::ptrdiff_t* places, const Value* number, std::ptrdiff_t channels,
                 void* to);
  /// to = the sum of the windows' gradients, each times its factor.
  void (*share)(const void* from, PoolPixels windows, const Value* factors, std::ptrdiff_t channels,
                void* to);
};

/// The key is the type of the activations.
const StorageTables<PoolTable>& pool_tables();

}  // namespace assay::native
