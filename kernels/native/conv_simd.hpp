#pragma once
// The inner loops of native convolution, compiled once for each instruction set: tables of
// functions, of which Highway chooses one when the program runs. Everything outside is plain C++.
//
// Channels are processed in blocks of 16, padded with zeros: a block of a pixel is one cache line
// in fp32, 16, 8 or 4 lanes divide it, and the distances between neighbouring pixels become
// constants of the instructions.

#include <cstddef>

#include "core/api/precision.hpp"

namespace assay::native {

inline constexpr std::ptrdiff_t channel_block = 16;
/// Distance of pixels that have no more channels than this: four of them share a cache line.
inline constexpr std::ptrdiff_t few_channels = 4;
/// Most rows of one register block on any processor.
inline constexpr int most_rows = 14;

/// A piece of the reduction: `k` products, from a[offset a] and b[offset b] on.
struct Segment {
  std::ptrdiff_t a, b, k;
};

/// c[r*row + v*vector + lane] (=, or += where `add`) sum over segments of a[r, k] * b[k, v, lane],
/// for a fixed number of rows r and of vectors v (1 or 2).
using GemmKernel = void (*)(const float* a, const float* b, const Segment* segments,
                            std::ptrdiff_t count, float* c, std::ptrdiff_t row,
                            std::ptrdiff_t vector, bool add);

struct GemmTable {
  const char* target;    ///< instruction set, by Highway's name
  std::ptrdiff_t lanes;  ///< of a vector of fp32, at most 16
  std::ptrdiff_t panel;  ///< columns of one panel of b: two vectors, at least 16
  int rows;              ///< best number of rows
  /// By [rows - 1][vectors - 1]. `pixels`: rows of a are 16 (few_pixels: 4) apart, k is contiguous.
  /// `channels`: the other way round. All: b[k] and b[k + 1] are `panel` apart.
  GemmKernel pixels[most_rows][2];
  GemmKernel few_pixels[most_rows][2];
  GemmKernel channels[most_rows][2];
  /// Copies `count` channels of each of `pixels` pixels, whose first channels lie `from_step`
  /// elements of `type` apart, to fp32 that lies `to_step` apart; channels count … 16 become zero;
  /// where to_step is less, some of them may stay as they were, and pixels behind be overwritten.
  void (*load)(DataType type, const void* from, std::ptrdiff_t from_step, std::ptrdiff_t pixels,
               std::ptrdiff_t count, float* to, std::ptrdiff_t to_step);
  /// The way back: rounds to nearest even, and writes `count` channels alone.
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

/// Of the best instruction set of this processor.
const GemmTable& gemm_table();
const WinogradTable& winograd_table();

}  // namespace assay::native
