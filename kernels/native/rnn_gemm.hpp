#pragma once
// Matrix products of recurrent networks, compiled once for each instruction set: rows of
// activations times a packed panel of weights. Both consist of whole cache lines of 16 floats.

#include <cstddef>

namespace assay::native {

/// Most columns of a panel, in blocks of 16.
inline constexpr int most_width = 4;

/// Most blocks of the reduction that go together: their part of a panel is read from the second
/// cache for each register block. It has 64 KiB where vectors have 4 or 8 floats, 256 KiB where
/// they have 16: a quarter of that cache on most processors with such vectors. Shorter parts would
/// stay in the first cache, but more additions to c cost more than reading from the second (with 8
/// blocks an LSTM took 7 % longer).
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
  /// The operand that is not in the core's caches: a, else b. While a part of it is multiplied, the
  /// next part is prefetched; at the end, what is at `next` (null: nothing), of the same shape.
  bool fetches_a;
  const float* next;
};

struct RnnGemm {
  int width;  ///< most columns of a panel here, in blocks of 16
  void (*multiply)(const RnnProduct& product);
};

/// The same products of bf16 numbers, of which a line has 32: a [blocks][rows][32], b [16 * blocks]
/// [width][16][2], whose pairs are rows 2k and 2k + 1 of a column. A block is 32 products. Sums are
/// fp32.
struct RnnPairs {
  const char* target;  ///< instructions
  void (*multiply)(const RnnProduct& product);
};

/// Null where the processor multiplies no bf16 numbers.
const RnnPairs* rnn_pairs();

/// The table of the best instruction set of this processor.
const RnnGemm& rnn_gemm();

}  // namespace assay::native
