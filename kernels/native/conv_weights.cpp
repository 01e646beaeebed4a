// Implicit GEMM, bwd_weights. A matrix product has input channels as rows and output channels as
// columns. Its reduction runs over all outputs of all images, tap by tap, in windows like those of
// forward.
//
// Work is divided by weights (a panel of output channels and 64 input channels). If that gives too
// few parts for the threads, it is also divided by outputs: each part then has its own sums, which
// are added at the end in a fixed order. So the result does not depend on the order of the threads.

#include <omp.h>

#include "kernels/native/conv_window.hpp"

namespace assay::native {
namespace {

/// Blocks of input channels of one unit of work.
constexpr std::ptrdiff_t blocks_of_unit = 4;

class ImplicitGemmWeights final : public ConvOperation {
 public:
  explicit ImplicitGemmWeights(const Request& request)
      : ConvOperation(request), shape_(request.problem.shape()) {
    const ConvShape& s = shape_;
    double tensors = 0;
    in_ = lay_out_activations(arguments_[0], s.g, request.blocked);
    out_ = lay_out_activations(arguments_[1], s.g, request.blocked);
    weights_ = {in_.channels, out_.channels, s.kh * s.kw, table_.panel};
    lay_out_weights(arguments_[2], weights_, true);
    for (const TensorSpec& spec : arguments_) tensors += static_cast<double>(spec.bytes);

    for (std::ptrdiff_t i = 0; i < s.kh; ++i)
      for (std::ptrdiff_t j = 0; j < s.kw; ++j)
        taps_.push_back({i * (s.dh + 1) - s.ph, j * (s.dw + 1) - s.pw, i * s.kw + j});
    const auto idle = std::ranges::stable_partition(
        taps_, [&](const Tap& tap) { return reads_inputs(tap, s.sh, s.sw, s.oh, s.ow, in_); });
    idle_.assign(idle.begin(), idle.end());
    taps_.erase(idle.begin(), idle.end());
    const Blocking blocking = choose_blocking(taps_, s.sh, s.sw, s.oh, s.ow);
    window_ = Window(taps_, s.sh, s.sw, blocking.height, blocking.width);
    at_once_ = blocks_at_once(window_, weights_.row_blocks(), blocks_of_unit);
    for (std::ptrdiff_t n = 0; n < s.mb; ++n)
      for (std::ptrdiff_t u = 0; u < s.oh; u += blocking.height)
        for (std::ptrdiff_t v = 0; v < s.ow; v += blocking.width)
          chunks_.push_back(
              {n, u, v, std::min(blocking.height, s.oh - u), std::min(blocking.width, s.ow - v)});
    for (std::ptrdiff_t g = 0; g < s.g; ++g)
      for (std::ptrdiff_t panel = 0; panel < weights_.panels(); ++panel)
        for (std::ptrdiff_t block = 0; block < weights_.row_blocks(); block += at_once_)
          units_.push_back({g, panel, block, std::min(weights_.row_blocks(), block + at_once_)});

    const std::ptrdiff_t values = s.g * weights_.group();
    const auto units = static_cast<std::ptrdiff_t>(units_.size()),
               chunks = static_cast<std::ptrdiff_t>(chunks_.size()),
               affordable = static_cast<std::ptrdiff_t>(tensors / 4 / static_cast<double>(values));
    parts_ = std::clamp<std::ptrdiff_t>(
        std::min({count_blocks(std::ptrdiff_t{4} * threads_, units), chunks, affordable}), 1,
        chunks);
    direct_ = parts_ == 1 && arguments_[2].type == DataType::fp32;

    Scratch scratch;
    sums_ = scratch.reserve(direct_ ? 0 : parts_ * values);
    gradients_ = pad(at_once_ * window_.block(), channel_block);
    queue_.plan(scratch, threads_, units * parts_,
                gradients_ + blocking.height * blocking.width * weights_.width,
                workspace_limit(request.problem));
    segments_.resize(static_cast<std::size_t>(threads_ * blocking.height));
    segments_of_thread_ = blocking.height;
    arguments_.push_back(workspace(scratch.bytes()));
    execution_ = describe(request, "implicit_gemm", scratch.bytes(), queue_,
                          "gOIhw16i" + std::to_string(weights_.width) + "o");
  }

  void run(Stream&) override {
    const std::ptrdiff_t values = shape_.g * weights_.group();
    float* const sums = direct_ ? static_cast<float*>(data_[2]) : scratch() + sums_;
    queue_.begin();
#pragma omp parallel num_threads(threads_)
    {
      queue_.each(scratch(), [&](std::ptrdiff_t at, float* own) {
        const std::ptrdiff_t part = at % parts_;
        compute(units_[static_cast<std::size_t>(at / parts_)], part, own, sums + part * values);
      });
      if (!direct_) {
#pragma omp barrier
#pragma omp for schedule(static)
        for (std::ptrdiff_t i = 0; i < values / channel_block; ++i)
          finish(i * channel_block, values);
      }
    }
  }

 private:
  /// Outputs of one image: rows [u, u + height), columns [v, v + width).
  struct Chunk {
    std::ptrdiff_t n, u, v, height, width;
  };
  /// A panel of output channels, and blocks [first, last) of input channels.
  struct Unit {
    std::ptrdiff_t g, panel, first, last;
  };

  void compute(const Unit& unit, std::ptrdiff_t part, float* window, float* sums) {
    float* const gradients = window + gradients_;
    Segment* const segments = segments_.data() + omp_get_thread_num() * segments_of_thread_;
    const std::ptrdiff_t column_blocks = weights_.column_blocks(unit.panel);
    const auto chunks = static_cast<std::ptrdiff_t>(chunks_.size());
    const std::ptrdiff_t begin = chunks * part / parts_, end = chunks * (part + 1) / parts_;
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
      window_.load(table_, in_, data_[0], chunk.n, unit.g, unit.first, unit.last, chunk.u, chunk.v,
                   window);
      for (std::ptrdiff_t u = 0; u < chunk.height; ++u) {
        segments[u] = {u * window_.step_y() * window_.row(), u * chunk.width * weights_.width,
                       chunk.width};
        for (std::ptrdiff_t j = 0; j < column_blocks; ++j) {
          const std::ptrdiff_t at = unit.panel * weights_.width / channel_block + j;
          const std::ptrdiff_t from =
              out_.offset(chunk.n, unit.g, at) + (chunk.u + u) * out_.row + chunk.v * out_.pixel;
          table_.load(out_.type, element(data_[1], out_.type, from), out_.pixel, chunk.width,
                      out_.count(at), gradients + segments[u].b + j * channel_block,
                      weights_.width);
        }
      }
      // If there is no space between the rows of a window, one reduction covers all rows.
      const bool whole = window_.step_y() * window_.row() == chunk.width * channel_block;
      if (whole) segments[0].k = chunk.height * chunk.width;
      for (std::ptrdiff_t block = unit.first; block < unit.last; ++block)
        for (const Tap& tap : taps_)
          multiply(table_, table_.channels, 1,
                   window + (block - unit.first) * window_.block() + window_.tap(tap), gradients,
                   segments, whole ? 1 : chunk.height,
                   std::min(channel_block, weights_.rows - block * channel_block), column_blocks,
                   {sums + place(unit, block, tap), weights_.width, channel_block}, i > begin);
    }
    for (std::ptrdiff_t block = unit.first; block < unit.last; ++block)
      for (const Tap& tap : idle_)
        std::fill_n(sums + place(unit, block, tap), channel_block * weights_.width, 0.0F);
  }

  /// The first of the sums of a tap, for a block of input channels.
  std::ptrdiff_t place(const Unit& unit, std::ptrdiff_t block, const Tap& tap) const {
    return unit.g * weights_.group() + unit.panel * weights_.panel() + block * weights_.block() +
           tap.index * channel_block * weights_.width;
  }

  /// Adds the parts' sums of 16 weights and stores them.
  void finish(std::ptrdiff_t at, std::ptrdiff_t values) const {
    alignas(64) float total[channel_block];
    const float* const first = scratch() + sums_ + at;
    for (std::ptrdiff_t i = 0; i < channel_block; ++i) {
      total[i] = first[i];
      for (std::ptrdiff_t part = 1; part < parts_; ++part) total[i] += first[part * values + i];
    }
    const DataType type = arguments_[2].type;
    table_.store(type, total, 0, 1, channel_block, element(data_[2], type, at), 0);
  }

  ConvShape shape_;
  Activations in_, out_;
  Panels weights_;
  std::vector<Tap> taps_, idle_;  ///< idle_: taps that read only padding
  Window window_;
  std::ptrdiff_t at_once_ = 1;  ///< blocks of input channels in a window
  std::vector<Chunk> chunks_;
  std::vector<Unit> units_;
  std::ptrdiff_t parts_ = 1;  ///< divisions of the chunks, with sums of their own
  bool direct_ = true;        ///< the sums are stored directly as the result
  std::ptrdiff_t sums_ = 0, segments_of_thread_ = 0;
  std::ptrdiff_t gradients_ = 0;  ///< offset in a thread's memory, after its window
  WorkQueue queue_;
  std::vector<Segment> segments_;  ///< of each thread
};

}  // namespace

Result<std::unique_ptr<Operation>> make_implicit_gemm_weights(const Request& request) {
  return std::make_unique<ImplicitGemmWeights>(request);
}

}  // namespace assay::native
