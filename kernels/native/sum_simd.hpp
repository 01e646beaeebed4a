#pragma once
// The sum of two arrays, for one thread, in the best instruction set of the processor.

#include <cstddef>

#include "core/api/precision.hpp"

namespace assay::native {

struct SumTable {
  const char* target;
  void (*sum)(const void* a, const void* b, std::ptrdiff_t count, void* to);
};
/// fp64, fp32, bf16 or fp16; sums of 16-bit elements are made in fp32 and rounded.
const SumTable& sum_table(DataType type);

}  // namespace assay::native
