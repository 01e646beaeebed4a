#include "kernels/native/conv_window.hpp"

#include <cstring>

namespace assay::native {
namespace {

constexpr std::ptrdiff_t window_bytes = 192 << 10;
constexpr std::ptrdiff_t outputs_at_once = 200, widest = 128;

void clear(float* to, std::ptrdiff_t values) {
  if (values > 0) std::memset(to, 0, static_cast<std::size_t>(values) * 4);
}

/// True if any of `outputs` reads an input of [0, inputs).
bool reaches(std::ptrdiff_t offset, std::ptrdiff_t step, std::ptrdiff_t outputs,
             std::ptrdiff_t inputs) {
  const std::ptrdiff_t first = offset >= 0 ? 0 : count_blocks(-offset, step);
  return first < outputs && first * step + offset < inputs;
}

}  // namespace

bool reads_inputs(const Tap& tap, std::ptrdiff_t step_y, std::ptrdiff_t step_x, std::ptrdiff_t rows,
                  std::ptrdiff_t columns, const Activations& in) {
  return reaches(tap.dy, step_y, rows, in.height) && reaches(tap.dx, step_x, columns, in.width);
}

Window::Window(const std::vector<Tap>& taps, std::ptrdiff_t step_y, std::ptrdiff_t step_x,
               std::ptrdiff_t height, std::ptrdiff_t width, std::ptrdiff_t pixel)
    : step_y_(step_y), step_x_(step_x), pixel_(pixel) {
  if (taps.empty()) return;
  dy_ = taps[0].dy;
  dx_ = taps[0].dx;
  std::ptrdiff_t last_y = dy_, last_x = dx_;
  for (const Tap& tap : taps) {
    dy_ = std::min(dy_, tap.dy);
    dx_ = std::min(dx_, tap.dx);
    last_y = std::max(last_y, tap.dy);
    last_x = std::max(last_x, tap.dx);
  }
  rows_ = (height - 1) * step_y + last_y - dy_ + 1;
  columns_ = count_blocks((width - 1) * step_x + last_x - dx_ + 1, step_x);
  row_used_.resize(static_cast<std::size_t>(rows_));
  phase_used_.resize(static_cast<std::size_t>(step_x));
  for (const Tap& tap : taps) {
    phase_used_[static_cast<std::size_t>((tap.dx - dx_) % step_x)] = 1;
    for (std::ptrdiff_t u = 0; u < height; ++u)
      row_used_[static_cast<std::size_t>(u * step_y + tap.dy - dy_)] = 1;
  }
  for (const char used : row_used_) {
    place_.push_back(stored_rows_);
    stored_rows_ += used != 0 || step_y > 1 ? 1 : 0;
  }
}

void Window::load(const GemmTable& table, const Activations& in, const void* data, std::ptrdiff_t n,
                  std::ptrdiff_t g, std::ptrdiff_t first, std::ptrdiff_t last, std::ptrdiff_t u,
                  std::ptrdiff_t v, float* to) const {
  // Pixels are loaded in the order of memory: a pixel may write values into the following ones,
  // which then overwrite them.
  for (std::ptrdiff_t at = first; at < last; ++at)
    for (std::ptrdiff_t r = 0; r < rows_; ++r) {
      if (row_used_[static_cast<std::size_t>(r)] == 0) continue;
      const std::ptrdiff_t y = u * step_y_ + dy_ + r;
      for (std::ptrdiff_t phase = 0; phase < step_x_; ++phase) {
        if (phase_used_[static_cast<std::size_t>(phase)] == 0) continue;
        float* const row = to + (at - first) * block() +
                           place_[static_cast<std::size_t>(r)] * this->row() +
                           phase * columns_ * pixel_;
        // Column c of this phase is input column x + c * step_x; the columns [begin, end) are
        // inside the input.
        const std::ptrdiff_t x = v * step_x_ + dx_ + phase;
        const std::ptrdiff_t begin = std::min(columns_, x >= 0 ? 0 : count_blocks(-x, step_x_));
        std::ptrdiff_t end = x >= in.width ? 0 : count_blocks(in.width - x, step_x_);
        end = y < 0 || y >= in.height ? begin : std::clamp(end, begin, columns_);
        clear(row, begin * pixel_);
        if (end > begin)
          table.load(in.type,
                     element(data, in.type,
                             in.offset(n, g, at) + y * in.row + (x + begin * step_x_) * in.pixel),
                     step_x_ * in.pixel, end - begin, in.count(at), row + begin * pixel_, pixel_);
        clear(row + end * pixel_, (columns_ - end) * pixel_);
      }
    }
}

Blocking choose_blocking(const std::vector<Tap>& taps, std::ptrdiff_t step_y, std::ptrdiff_t step_x,
                         std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t pixel) {
  Blocking out{1, columns};
  if (columns > widest) out.width = count_blocks(columns, count_blocks(columns, widest));
  const std::ptrdiff_t most =
      std::min(rows, std::max<std::ptrdiff_t>(1, outputs_at_once / out.width));
  for (; out.height < most; ++out.height) {
    const Window next(taps, step_y, step_x, out.height + 1, out.width, pixel);
    if (next.block() * 4 > window_bytes / 2) break;
  }
  // Blocks of equal height.
  out.height = count_blocks(rows, count_blocks(rows, out.height));
  return out;
}

std::ptrdiff_t blocks_at_once(const Window& window, std::ptrdiff_t blocks, std::ptrdiff_t most) {
  const std::ptrdiff_t fit = window.block() == 0 ? blocks : window_bytes / (window.block() * 4);
  const std::ptrdiff_t at_once =
      std::clamp<std::ptrdiff_t>(fit, 1, std::max<std::ptrdiff_t>(1, most));
  return count_blocks(blocks, count_blocks(blocks, std::min(at_once, blocks)));
}

}  // namespace assay::native
