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
  /// Takes `pixels` pixels, whose classes follow each other: adds each to `confusion` [classes,
  /// classes], writes diff_logits, unless that is null, with by * weight (softmax - one), and
  /// returns the sum of the weighted losses. `scratch`: 2 * pixels_at_once * classes.
  double (*add)(const void* logits, const std::int32_t* labels, const Value* weights,
                std::ptrdiff_t classes, std::ptrdiff_t pixels, Value by, Value* scratch,
                std::int32_t* confusion, void* diff_logits);
};

/// The key is the type of the logits.
const StorageTables<PixelLossTable>& pixel_loss_tables();

}  // namespace assay::native
