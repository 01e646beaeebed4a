#pragma once
// The inner loops of native convolution, compiled once for each instruction set. Each set has a
// table of functions, and Highway chooses one table at run time. All other code is plain C++.
//
// Channels are processed in blocks of 16, padded with zeros. In fp32 a pixel's block is one cache
// line, which is a whole number of vectors of 4, 8 or 16 lanes, and the distance between
// neighbouring pixels is a constant of the instructions.

#include <cstddef>

#include "core/api/precision.hpp"

namespace assay::native {

inline constexpr std::ptrdiff_t channel_block = 16;
/// With at most this many channels, pixels are this many elements apart, so that four of them share
/// a cache line.
inline constexpr std::ptrdiff_t few_channels = 4;
/// Most rows of one register block on any processor.
inline constexpr int most_rows = 14;

/// A part of the reduction: `k` products of the elements from offset a on with those from offset b
/// on.
struct Segment {
  std::ptrdiff_t a, b, k;
};

/// c[r*row + v*vector + lane] = the sum over all segments of a[r, k] * b[k, v, lane] (with `add`:
/// += that sum), for a fixed number of rows r and of vectors v (1 or 2).
using GemmKernel = void (*)(const float* a, const float* b, const Segment* segments,
                            std::ptrdiff_t count, float* c, std::ptrdiff_t row,
                            std::ptrdiff_t vector, bool add);

struct GemmTable {
  const char* target;    ///< instruction set, by Highway's name
  std::ptrdiff_t lanes;  ///< of a vector of fp32, at most 16
  std::ptrdiff_t panel;  ///< columns of one panel of b: two vectors, at least 16
  int rows;              ///< of the fastest register block
  /// Indices: [rows - 1][vectors - 1]. pixels: rows of a are 16 apart (few_pixels: 4), and its k
  /// are contiguous. channels: rows are contiguous, and k are 16 apart. In all of them, the k of b
  /// are `panel` apart.
  GemmKernel pixels[most_rows][2];
  GemmKernel few_pixels[most_rows][2];
  GemmKernel channels[most_rows][2];
  /// Copies `count` channels of each of `pixels` pixels, which lie `from_step` elements of `type`
  /// apart, to fp32 pixels `to_step` apart, and sets channels count … 16 to zero. If to_step is
  /// below 16, some of these channels may keep their values, and later pixels may be overwritten.
  void (*load)(DataType type, const void* from, std::ptrdiff_t from_step, std::ptrdiff_t pixels,
               std::ptrdiff_t count, float* to, std::ptrdiff_t to_step);
  /// The reverse: rounds to nearest even, and writes only `count` channels.
  void (*store)(DataType type, const float* from, std::ptrdiff_t from_step, std::ptrdiff_t pixels,
                std::ptrdiff_t count, void* to, std::ptrdiff_t to_step);
};

/// Winograd's transforms for one block of 16 channels, of F(2x2, 3x3) and F(4x4, 3x3); frequency
/// (i, j) lies at (i * points + j) * step.
struct WinogradTable {
  using Input = void (*)(const float* in, std::ptrdiff_t row, std::ptrdiff_t pixel, float* out,
                         std::ptrdiff_t step);
  using Filter = void (*)(const float* taps, float* out, std::ptrdiff_t step);
  using Output = void (*)(const float* in, std::ptrdiff_t step, float* out, std::ptrdiff_t row,
                          std::ptrdiff_t pixel);
  Input input2, input4;
  Filter filter2, filter4;  ///< taps: nine blocks of 16 output channels
  Output output2, output4;
};

/// The tables of the best instruction set of this processor.
const GemmTable& gemm_table();
const WinogradTable& winograd_table();

}  // namespace assay::native
