#pragma once
// The loss of a few pixels, for one thread, in the best instruction set of the processor.

#include <cstddef>
#include <cstdint>

#include "support/simd/storage_tables.hpp"

namespace assay::native {

/// Pixels that are computed at once: whole vectors of every instruction set.
inline constexpr std::ptrdiff_t pixels_at_once = 64;

/// Value: float, or double for fp64 logits.
template <class Value>
struct PixelLossTable {
  const char* target;
  /// Processes `pixels` pixels, whose classes are adjacent. Adds each to `confusion` [classes,
  /// classes]. Unless diff_logits is null, writes it, with by * weight (softmax - one). Returns the
  /// sum of the weighted losses. `scratch`: 2 * pixels_at_once * classes.
  double (*add)(const void* logits, const std::int32_t* labels, const Value* weights,
                std::ptrdiff_t classes, std::ptrdiff_t pixels, Value by, Value* scratch,
                std::int32_t* confusion, void* diff_logits);
};

/// The key is the type of the logits.
const StorageTables<PixelLossTable>& pixel_loss_tables();

}  // namespace assay::native
