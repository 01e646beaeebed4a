#pragma once
// The inputs that a block of outputs reads: in fp32, with zeros for padding, in scratch memory that
// stays in the second-level cache. An im2col matrix repeats each input for every tap; a window
// contains it once.

#include "kernels/native/conv_parts.hpp"

namespace assay::native {

/// A tap: output (u, v) reads input (u * step_y + dy, v * step_x + dx) with weight `index`.
struct Tap {
  std::ptrdiff_t dy, dx, index;
};

/// True if any of rows x columns outputs reads an input of height x width at this tap. If the
/// dilation of a filter exceeds the extent of the plane, some taps read only padding.
bool reads_inputs(const Tap& tap, std::ptrdiff_t step_y, std::ptrdiff_t step_x, std::ptrdiff_t rows,
                  std::ptrdiff_t columns, const Activations& in);

class Window {
 public:
  Window() = default;
  /// A window serves blocks of height x width outputs. Columns that are step_x apart are stored
  /// side by side, so that neighbouring outputs always read neighbouring pixels. A pixel has
  /// `pixel` values: 16, or 4 if there are at most 4 channels.
  Window(const std::vector<Tap>& taps, std::ptrdiff_t step_y, std::ptrdiff_t step_x,
         std::ptrdiff_t height, std::ptrdiff_t width, std::ptrdiff_t pixel = channel_block);

  std::ptrdiff_t step_y() const { return step_y_; }
  /// fp32 values of one row, and of all rows, of one block of channels.
  std::ptrdiff_t row() const { return step_x_ * columns_ * pixel_; }
  std::ptrdiff_t block() const { return stored_rows_ * row(); }
  /// Offset of the pixel that the block's first output reads at this tap.
  std::ptrdiff_t tap(const Tap& tap) const {
    const std::ptrdiff_t x = tap.dx - dx_;
    return place_[static_cast<std::size_t>(tap.dy - dy_)] * row() +
           (x % step_x_ * columns_ + x / step_x_) * pixel_;
  }
  /// Number of values that load() may write beyond the last block.
  std::ptrdiff_t slack() const { return channel_block - pixel_; }
  /// Loads blocks [first, last) of channels of image n and group g, for the block of outputs that
  /// begins at (u, v).
  void load(const GemmTable& table, const Activations& in, const void* data, std::ptrdiff_t n,
            std::ptrdiff_t g, std::ptrdiff_t first, std::ptrdiff_t last, std::ptrdiff_t u,
            std::ptrdiff_t v, float* to) const;

 private:
  std::ptrdiff_t step_y_ = 1, step_x_ = 1, dy_ = 0, dx_ = 0, rows_ = 0, columns_ = 0,
                 pixel_ = channel_block;
  std::vector<char> row_used_, phase_used_;  ///< by row; by column modulo step_x
  /// The place of each row. If step_y is 1, only rows that taps read have a place, because the taps
  /// of a dilated filter skip many rows.
  std::vector<std::ptrdiff_t> place_;
  std::ptrdiff_t stored_rows_ = 0;
};

/// The division of the outputs of one plane into blocks that a window serves: about 200 outputs,
/// windows of at most 192 KiB.
struct Blocking {
  std::ptrdiff_t height, width;
};
Blocking choose_blocking(const std::vector<Tap>& taps, std::ptrdiff_t step_y, std::ptrdiff_t step_x,
                         std::ptrdiff_t rows, std::ptrdiff_t columns,
                         std::ptrdiff_t pixel = channel_block);
/// Number of blocks of channels, out of `blocks`, that a window holds at once; at most `most`.
std::ptrdiff_t blocks_at_once(const Window& window, std::ptrdiff_t blocks, std::ptrdiff_t most);

}  // namespace assay::native
