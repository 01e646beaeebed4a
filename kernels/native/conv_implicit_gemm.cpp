// Implicit GEMM, forward and bwd_data. A matrix product has outputs as rows and output channels as
// columns; its reduction runs over taps and input channels. The matrix of inputs is never stored:
// its rows are read from a window.
//
// bwd_data with stride s is s_h * s_w convolutions of stride 1, one for each residue of diff_src's
// coordinates. Each uses only the taps that reach its residue, so there are no products with
// inserted zeros.

#include "kernels/native/conv_window.hpp"

namespace assay::native {
namespace {

/// Bytes of the reduction of one panel of weights that stay in the second-level cache.
constexpr std::ptrdiff_t panel_bytes = 80 << 10;

/// Outputs (first_y + u * step, first_x + v * step) for u < rows, v < columns, and their taps.
struct Phase {
  std::ptrdiff_t first_y = 0, first_x = 0, rows = 0, columns = 0;
  std::vector<Tap> taps{};
  /// True if the inputs of a single tap are adjacent, as a window would store them: they are then
  /// read in place.
  bool in_place = false;
  Blocking blocking{};
  Window window{};
  std::ptrdiff_t blocks = 1;  ///< of input channels that a window holds at once
  /// The segments for the blocks of channels in a window, one after the other: [tap][block]. So for
  /// one row of outputs, the taps inside the plane are one range of segments.
  std::vector<Segment> segments{};
};

/// A block of outputs, and panels [first, last) of their channels.
struct Item {
  const Phase* phase;
  std::ptrdiff_t n, g, u, v, first, last;
};

class ImplicitGemm final : public ConvOperation {
 public:
  explicit ImplicitGemm(const Request& request)
      : ConvOperation(request), shape_(request.problem.shape()) {
    const ConvShape& s = shape_;
    const bool forward = request.problem.direction() == ConvDirection::forward;
    in_ = lay_out_activations(arguments_[0], s.g, request.blocked);
    out_ = lay_out_activations(arguments_[2], s.g, request.blocked);
    weights_ = {in_.channels, out_.channels, s.kh * s.kw, table_.panel};
    lay_out_weights(arguments_[1], weights_, forward);
    // A single tap reads every pixel once, so packing pixels closer would save nothing.
    pixel_ = in_.channels <= few_channels && weights_.taps > 1 ? few_channels : channel_block;
    direct_ = out_.type == DataType::fp32 && (out_.blocked || out_.channels % channel_block == 0);
    if (forward)
      plan_forward();
    else
      plan_bwd_data();
    plan_items();

    Scratch scratch;
    wide_ = scratch.reserve(in_.type == DataType::fp32 ? 0 : s.g * weights_.group());
    std::ptrdiff_t window = 0, sums = 0;
    for (const Phase& phase : phases_) {
      if (!phase.in_place)
        window = std::max(window, phase.blocks * phase.window.block() + phase.window.slack());
      sums = std::max(sums, phase.blocking.height * phase.blocking.width);
    }
    std::ptrdiff_t panels = 0;
    for (const Item& item : items_) panels = std::max(panels, item.last - item.first);
    window_ = pad(window, channel_block);
    queue_.plan(scratch, threads_, static_cast<std::ptrdiff_t>(items_.size()),
                window_ + (direct_ ? 0 : panels * sums * weights_.width),
                workspace_limit(request.problem));
    arguments_.push_back(workspace(scratch.bytes()));
    execution_ = describe(request, "implicit_gemm", scratch.bytes(), queue_,
                          fmt_weights(forward, weights_.width));
  }

  void run(Stream&) override {
    const bool narrow = in_.type != DataType::fp32;
    const float* const weights = narrow ? scratch() + wide_ : static_cast<const float*>(data_[1]);
    queue_.begin();
#pragma omp parallel num_threads(threads_)
    {
      if (narrow)
        widen_shared(table_, in_.type, data_[1], scratch() + wide_, shape_.g * weights_.group());
      queue_.each(scratch(), [&](std::ptrdiff_t item, float* own) {
        compute(items_[static_cast<std::size_t>(item)], weights, own, own + window_);
      });
    }
  }

 private:
  static std::string fmt_weights(bool forward, std::ptrdiff_t width) {
    return (forward ? "gOIhw16i" : "gIOhw16o") + std::to_string(width) + (forward ? "o" : "i");
  }

  void plan_forward() {
    const ConvShape& s = shape_;
    step_y_ = s.sh;
    step_x_ = s.sw;
    Phase phase{0, 0, s.oh, s.ow};
    for (std::ptrdiff_t i = 0; i < s.kh; ++i)
      for (std::ptrdiff_t j = 0; j < s.kw; ++j)
        phase.taps.push_back({i * (s.dh + 1) - s.ph, j * (s.dw + 1) - s.pw, i * s.kw + j});
    add(std::move(phase));
  }

  void plan_bwd_data() {
    const ConvShape& s = shape_;
    out_step_y_ = s.sh;
    out_step_x_ = s.sw;
    for (std::ptrdiff_t y = 0; y < std::min(s.sh, s.ih); ++y)
      for (std::ptrdiff_t x = 0; x < std::min(s.sw, s.iw); ++x) {
        Phase phase{y, x, count_blocks(s.ih - y, s.sh), count_blocks(s.iw - x, s.sw)};
        for (std::ptrdiff_t i = 0; i < s.kh; ++i)
          for (std::ptrdiff_t j = 0; j < s.kw; ++j) {
            const std::ptrdiff_t from_y = y + s.ph - i * (s.dh + 1),
                                 from_x = x + s.pw - j * (s.dw + 1);
            if (from_y % s.sh == 0 && from_x % s.sw == 0)
              phase.taps.push_back({from_y / s.sh, from_x / s.sw, i * s.kw + j});
          }
        add(std::move(phase));
      }
  }

  void add(Phase phase) {
    std::erase_if(phase.taps, [&](const Tap& tap) {
      return !reads_inputs(tap, step_y_, step_x_, phase.rows, phase.columns, in_);
    });
    phase.blocking =
        choose_blocking(phase.taps, step_y_, step_x_, phase.rows, phase.columns, pixel_);
    phase.window =
        Window(phase.taps, step_y_, step_x_, phase.blocking.height, phase.blocking.width, pixel_);
    const auto taps = static_cast<std::ptrdiff_t>(phase.taps.size());
    phase.in_place = pixel_ == channel_block && in_.type == DataType::fp32 && in_.blocked &&
                     taps == 1 && step_y_ == 1 && step_x_ == 1 && phase.taps[0].dy == 0 &&
                     phase.taps[0].dx == 0 && phase.rows <= in_.height &&
                     phase.columns <= in_.width;
    const std::ptrdiff_t tap = channel_block * weights_.width, blocks = weights_.row_blocks();
    phase.blocks = blocks_at_once(phase.in_place ? Window() : phase.window, blocks,
                                  panel_bytes / 4 / std::max<std::ptrdiff_t>(1, taps * tap));
    for (std::ptrdiff_t first = 0; first < blocks; first += phase.blocks)
      for (const Tap& tap_of_phase : phase.taps)
        for (std::ptrdiff_t at = first; at < std::min(blocks, first + phase.blocks); ++at)
          phase.segments.push_back({phase.in_place ? (at - first) * in_.block
                                                   : (at - first) * phase.window.block() +
                                                         phase.window.tap(tap_of_phase),
                                    at * weights_.block() + tap_of_phase.index * tap,
                                    std::min(channel_block, weights_.rows - at * channel_block)});
    phases_.push_back(std::move(phase));
  }

  void plan_items() {
    const ConvShape& s = shape_;
    std::ptrdiff_t blocks = 0;
    for (const Phase& p : phases_)
      blocks += s.mb * s.g * count_blocks(p.rows, p.blocking.height) *
                count_blocks(p.columns, p.blocking.width);
    // If images and planes give too few parts, channels are divided as well; each part then loads
    // the window again.
    const std::ptrdiff_t panels = weights_.panels(),
                         parts = std::clamp<std::ptrdiff_t>(
                             count_blocks(std::ptrdiff_t{4} * threads_, blocks), 1, panels);
    for (const Phase& p : phases_)
      for (std::ptrdiff_t n = 0; n < s.mb; ++n)
        for (std::ptrdiff_t g = 0; g < s.g; ++g)
          for (std::ptrdiff_t u = 0; u < p.rows; u += p.blocking.height)
            for (std::ptrdiff_t v = 0; v < p.columns; v += p.blocking.width)
              for (std::ptrdiff_t part = 0; part < parts; ++part)
                items_.push_back(
                    {&p, n, g, u, v, panels * part / parts, panels * (part + 1) / parts});
  }

  void compute(const Item& item, const float* weights, float* window, float* sums) const {
    const Phase& p = *item.phase;
    const std::ptrdiff_t height = std::min(p.blocking.height, p.rows - item.u),
                         width = std::min(p.blocking.width, p.columns - item.v),
                         taps = static_cast<std::ptrdiff_t>(p.taps.size()),
                         blocks = weights_.row_blocks();
    // If rows of outputs are adjacent, and so are their inputs, they form one row: incomplete
    // register blocks then occur only at the end of the block.
    const bool whole = p.in_place && width == in_.width && width == out_.width &&
                       out_step_y_ == 1 && out_step_x_ == 1;
    const std::ptrdiff_t rows = whole ? height : 1;
    for (std::ptrdiff_t first = 0; first < blocks; first += p.blocks) {
      const std::ptrdiff_t last = std::min(blocks, first + p.blocks);
      if (taps > 0 && !p.in_place)
        p.window.load(table_, in_, data_[0], item.n, item.g, first, last, item.u, item.v, window);
      for (std::ptrdiff_t panel = item.first; panel < item.last; ++panel)
        for (std::ptrdiff_t u = 0; u < height; u += rows) {
          // Rows of taps above and below the plane are skipped, because they would multiply zeros.
          const auto inside = [&](const Tap& tap) {
            const std::ptrdiff_t y = (item.u + u) * step_y_ + tap.dy;
            return y >= 0 && y < in_.height;
          };
          const auto begin = std::find_if(p.taps.begin(), p.taps.end(), inside),
                     end = std::find_if_not(begin, p.taps.end(), inside);
          const float* const from = p.in_place ? static_cast<const float*>(data_[0]) +
                                                     in_.offset(item.n, item.g, first) +
                                                     (item.u + u) * in_.row + item.v * in_.pixel
                                               : window + u * p.window.step_y() * p.window.row();
          multiply(table_, pixel_ == few_channels ? table_.few_pixels : table_.pixels, pixel_, from,
                   weights + item.g * weights_.group() + panel * weights_.panel(),
                   p.segments.data() + first * taps + (begin - p.taps.begin()) * (last - first),
                   (end - begin) * (last - first), rows * width, weights_.column_blocks(panel),
                   destination(item, panel, u, width, sums), first > 0);
        }
    }
    if (direct_) return;
    for (std::ptrdiff_t panel = item.first; panel < item.last; ++panel)
      for (std::ptrdiff_t u = 0; u < height; ++u)
        for (std::ptrdiff_t j = 0; j < weights_.column_blocks(panel); ++j) {
          const Destination from = destination(item, panel, u, width, sums);
          const std::ptrdiff_t at = panel * weights_.width / channel_block + j;
          table_.store(out_.type, from.to + j * from.block, from.row, width, out_.count(at),
                       element(data_[2], out_.type, place(item, at, u)), out_step_x_ * out_.pixel);
        }
  }

  /// Offset of the first output of row u of the item, in block `at` of channels.
  std::ptrdiff_t place(const Item& item, std::ptrdiff_t at, std::ptrdiff_t u) const {
    return out_.offset(item.n, item.g, at) +
           (item.phase->first_y + (item.u + u) * out_step_y_) * out_.row +
           (item.phase->first_x + item.v * out_step_x_) * out_.pixel;
  }

  Destination destination(const Item& item, std::ptrdiff_t panel, std::ptrdiff_t u,
                          std::ptrdiff_t width, float* sums) const {
    if (direct_)
      return {
          static_cast<float*>(data_[2]) + place(item, panel * weights_.width / channel_block, u),
          out_step_x_ * out_.pixel, out_.block};
    const std::ptrdiff_t rows = item.phase->blocking.height * width;
    return {sums + ((panel - item.first) * rows + u * width) * weights_.width, weights_.width,
            channel_block};
  }

  ConvShape shape_;
  Activations in_, out_;
  Panels weights_;
  std::ptrdiff_t pixel_ = channel_block;  ///< values stored for a pixel of the window
  bool direct_ = true;                    ///< products are stored directly to the outputs
  std::ptrdiff_t step_y_ = 1, step_x_ = 1, out_step_y_ = 1, out_step_x_ = 1;
  std::vector<Phase> phases_;
  std::vector<Item> items_;
  std::ptrdiff_t wide_ = 0;    ///< fp32 copy of 16-bit weights, in the workspace
  std::ptrdiff_t window_ = 0;  ///< floats of a thread's window; its sums come after it
  WorkQueue queue_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_implicit_gemm(const Request& request) {
  return std::make_unique<ImplicitGemm>(request);
}

}  // namespace assay::native
