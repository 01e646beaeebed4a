#pragma once
// Matrix products of recurrent networks, compiled once for each instruction set: rows of
// activations times a packed panel of weights. Both consist of whole cache lines of 16 floats.

#include <cstddef>

namespace assay::native {

/// Most columns of a panel, in blocks of 16.
inline constexpr int most_width = 4;

/// The most blocks of the reduction that are multiplied together: their part of a panel is read
/// from the second-level cache for each register block. The part has 64 KiB for vectors of 4 or 8
/// floats, and 256 KiB for vectors of 16: a quarter of that cache on most processors with such
/// vectors. Shorter parts would stay in the first-level cache, but the additional additions to c
/// cost more than reading from the second (with 8 blocks an LSTM took 7 % longer).
inline constexpr std::ptrdiff_t most_blocks = 64;

/// c[v][row][16] = the sum over k of a[row, k] * b[k, v, 16] (with `add`: += that sum).
struct RnnProduct {
  const float* a;          ///< [blocks][rows][16], blocks lie `a_block` apart
  std::ptrdiff_t a_block;  ///< in floats
  const float* b;          ///< [16 * blocks][width][16]
  std::ptrdiff_t blocks;   ///< of 16 products
  std::ptrdiff_t rows;
  int width;  ///< blocks of 16 columns
  float* c[most_width];
  bool add;
  /// The operand that is not in the core's caches: a if `fetches_a`, else b. While one part of it
  /// is multiplied, the next part is prefetched. At the end the data at `next` are prefetched
  /// (null: none), which have the same shape.
  bool fetches_a;
  const float* next;
};

struct RnnGemm {
  int width;  ///< most columns of a panel here, in blocks of 16
  void (*multiply)(const RnnProduct& product);
};

/// The same products of bf16 numbers; a line holds 32 of them: a [blocks][rows][32], b [16 *
/// blocks] [width][16][2], whose pairs are rows 2k and 2k + 1 of a column. A block is 32 products.
/// Sums are fp32.
struct RnnPairs {
  const char* target;  ///< instructions
  void (*multiply)(const RnnProduct& product);
};

/// Null if the processor does not multiply bf16 numbers.
const RnnPairs* rnn_pairs();

/// The table of the best instruction set of this processor.
const RnnGemm& rnn_gemm();

}  // namespace assay::native
