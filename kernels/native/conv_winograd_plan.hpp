#pragma once
// The memory of a Winograd convolution: the side of its products that is stored whole, and the size
// of the blocks of the other side (see conv_winograd.cpp).

#include "kernels/native/conv_parts.hpp"

namespace assay::native {

/// The sizes that the memory depends on.
struct WinogradSizes {
  Panels weights;              ///< of one frequency
  std::ptrdiff_t frequencies;  ///< products of a tile
  std::ptrdiff_t tiles;        ///< of all images
  std::ptrdiff_t threads;
  std::ptrdiff_t rows;  ///< of the fastest register block
  DataType stored;      ///< type of transformed operands
};

/// Memory is in floats.
struct WinogradPlan {
  bool by_tiles = true;         ///< tiles are transformed in blocks; otherwise weights are
  std::ptrdiff_t tiles = 1;     ///< of a block
  std::ptrdiff_t blocks = 1;    ///< of 16 input channels whose weights are transformed at once
  std::ptrdiff_t parts = 1;     ///< into which the work is divided among threads
  std::ptrdiff_t resident = 0;  ///< of the side that is stored whole
  /// The memory of each thread: its block of the other side, products, and an fp32 copy of values
  /// that are stored in 16 bits.
  std::ptrdiff_t per_thread = 0, products = 0, fp32_copy = 0;

  std::ptrdiff_t each() const { return per_thread + products + fp32_copy; }
};

/// The plan with the smaller resident side, or, if that plan needs more than `limit` floats with
/// one thread, the plan that needs fewer. Blocks are as small as the limit requires.
WinogradPlan plan_winograd(const WinogradSizes& sizes, std::ptrdiff_t limit);

}  // namespace assay::native
