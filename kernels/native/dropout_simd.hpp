#pragma once
// The inner loops of dropout, for one thread, in the best instruction set of the processor.

#include <cstddef>
#include <cstdint>

#include "kernels/dropout/problem.hpp"
#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Value: float, or double for fp64 tensors.
template <class Value>
struct DropoutTable {
  const char* target;
  /// to = from * scale if the mask keeps the element, else 0, for elements [first, first + count),
  /// which begin at from and to. `first` is a multiple of 4.
  void (*drop)(const DropoutMask& mask, std::int64_t first, std::ptrdiff_t count, const void* from,
               void* to);
};

/// The key is the type of the tensors.
const StorageTables<DropoutTable>& dropout_tables();

}  // namespace assay::native
