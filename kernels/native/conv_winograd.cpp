// Winograd F(2x2, 3x3) and F(4x4, 3x3), forward and bwd_data (a forward convolution of diff_dst
// with the filters turned by 180 degrees).
//
// Tiles of inputs and filters are transformed, multiplied as one matrix product for each of 16 or
// 36 frequencies, and transformed back. Weights change at every step of training, so their
// transform is part of the run. The side with fewer transformed values is held whole; the other one
// is made in blocks that stay in the second-level cache, by the thread that multiplies them:
//   tiles in blocks:   all weights, then for each block of tiles: inputs, products, outputs;
//   weights in blocks: all inputs, then for each panel of weights: weights, products, outputs.

#include <fmt/format.h>
#include <omp.h>

#include "kernels/native/conv_parts.hpp"

namespace assay::native {
namespace {

/// Transformed inputs and products of one block of tiles.
constexpr std::ptrdiff_t block_bytes = 320 << 10;

class Winograd final : public Operation {
 public:
  Winograd(const Request& request, int tile)
      : table_(gemm_table()),
        tile_(tile),
        points_(tile + 2),
        frequencies_(points_ * points_),
        threads_(request.threads) {
    const ConvShape& s = request.problem.shape();
    const WinogradTable& transforms = winograd_table();
    transform_input_ = tile == 4 ? transforms.input4 : transforms.input2;
    transform_filter_ = tile == 4 ? transforms.filter4 : transforms.filter2;
    transform_output_ = tile == 4 ? transforms.output4 : transforms.output2;
    const bool forward = request.problem.direction() == ConvDirection::forward;
    arguments_ = request.problem.tensors();
    in_ = lay_out_activations(arguments_[0], 1, request.blocked);
    out_ = lay_out_activations(arguments_[2], 1, request.blocked);
    lay_out_filters(forward);
    // Output (y, x) reads inputs from (y - top, x - left) on.
    top_ = forward ? s.ph : 2 - s.ph;
    left_ = forward ? s.pw : 2 - s.pw;
    images_ = s.mb;
    tile_rows_ = blocks_of(out_.height, tile_);
    tile_columns_ = blocks_of(out_.width, tile_);
    tiles_ = images_ * tile_rows_ * tile_columns_;
    weights_ = {in_.channels, out_.channels, 1, table_.panel};
    plan(request);
    executed_ = describe(request, fmt::format("winograd_{0}x{0}", tile), arguments_[3].bytes,
                         forward ? "OIhw16o" : "IOhw16i");
    executed_.algorithm = "winograd";
    executed_.numbers["tile"] = tile;
    executed_.algorithmic_flops = winograd_flops(request.problem, tile);
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  Executed executed() const override { return executed_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < 3; ++i) data_[i] = tensors[i]->data();
    scratch_ = static_cast<float*>(tensors[3]->data());
  }

  void run(Stream&) override {
#pragma omp parallel num_threads(threads_)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      float* const own = scratch_ + own_[thread];
      float* const products = scratch_ + products_[thread];
      if (tiles_in_blocks_)
        by_tiles(own, products);
      else
        by_weights(own, products);
    }
  }

 private:
  /// [output block of 16][input channel][tap][16]: nine vectors are one filter transform's input.
  void lay_out_filters(bool forward) {
    const std::ptrdiff_t filter = 9 * channel_block;
    const Split outputs{channel_block, in_.channels * filter, 1}, inputs{1, filter, 0};
    // bwd_data reads taps in reverse.
    Layout layout;
    layout.splits = {{1, 0, 0},
                     forward ? outputs : inputs,
                     forward ? inputs : outputs,
                     {1, 3 * channel_block, 0},
                     {1, channel_block, 0}};
    layout.elements = blocks_of(out_.channels, channel_block) * in_.channels * filter;
    arguments_[1].bytes = static_cast<std::size_t>(layout.elements) * size_of(arguments_[1].type);
    arguments_[1].layout = std::make_shared<const Layout>(std::move(layout));
    turned_ = !forward;
  }

  void plan(const Request&) {
    const std::ptrdiff_t channels = weights_.row_blocks() * channel_block;
    const std::ptrdiff_t all_weights = frequencies_ * weights_.group(),
                         all_inputs = frequencies_ * tiles_ * channels;
    tiles_in_blocks_ = all_weights <= all_inputs;
    // A block of tiles is a whole number of register blocks.
    const std::ptrdiff_t each = frequencies_ * (channels + weights_.width) * 4;
    const std::ptrdiff_t fit = std::max<std::ptrdiff_t>(1, block_bytes / (each * table_.rows));
    at_once_ = std::min(tiles_, fit * table_.rows);
    at_once_ = blocks_of(tiles_, blocks_of(tiles_, at_once_));

    Scratch scratch;
    const std::ptrdiff_t inputs = frequencies_ * at_once_ * channels,
                         panel = frequencies_ * weights_.panel();
    shared_ =
        scratch.reserve(tiles_in_blocks_ ? all_weights : blocks_of(tiles_, at_once_) * inputs);
    for (int thread = 0; thread < threads_; ++thread) {
      own_.push_back(scratch.reserve(tiles_in_blocks_ ? inputs : panel));
      products_.push_back(scratch.reserve(frequencies_ * at_once_ * weights_.width));
    }
    for (std::ptrdiff_t at = 0; at < weights_.row_blocks(); ++at)
      segments_.push_back({at * at_once_ * channel_block, at * weights_.block(),
                           std::min(channel_block, weights_.rows - at * channel_block)});
    arguments_.push_back(workspace(scratch.bytes()));
  }

  void by_tiles(float* inputs, float* products) {
    const std::ptrdiff_t panels = weights_.panels(), blocks = weights_.row_blocks();
    float* const weights = scratch_ + shared_;
#pragma omp for schedule(static) collapse(2)
    for (std::ptrdiff_t panel = 0; panel < panels; ++panel)
      for (std::ptrdiff_t block = 0; block < blocks; ++block)
        filters(panel, block, weights + panel * frequencies_ * weights_.panel());
#pragma omp for schedule(dynamic, 1)
    for (std::ptrdiff_t first = 0; first < tiles_; first += at_once_) {
      const std::ptrdiff_t last = std::min(tiles_, first + at_once_);
      for (std::ptrdiff_t tile = first; tile < last; ++tile) input(tile, tile - first, inputs);
      for (std::ptrdiff_t panel = 0; panel < panels; ++panel)
        multiply_and_store(first, last, panel, inputs,
                           weights + panel * frequencies_ * weights_.panel(), products);
    }
  }

  void by_weights(float* weights, float* products) {
    const std::ptrdiff_t panels = weights_.panels();
    const std::ptrdiff_t block_of_tiles =
        frequencies_ * at_once_ * weights_.row_blocks() * channel_block;
    float* const inputs = scratch_ + shared_;
#pragma omp for schedule(static)
    for (std::ptrdiff_t tile = 0; tile < tiles_; ++tile)
      input(tile, tile % at_once_, inputs + tile / at_once_ * block_of_tiles);
#pragma omp for schedule(dynamic, 1)
    for (std::ptrdiff_t panel = 0; panel < panels; ++panel) {
      for (std::ptrdiff_t block = 0; block < weights_.row_blocks(); ++block)
        filters(panel, block, weights);
      for (std::ptrdiff_t first = 0; first < tiles_; first += at_once_)
        multiply_and_store(first, std::min(tiles_, first + at_once_), panel,
                           inputs + first / at_once_ * block_of_tiles, weights, products);
    }
  }

  struct Place {
    std::ptrdiff_t n, y, x;
  };
  /// Image and first output of a tile.
  Place place(std::ptrdiff_t tile) const {
    const std::ptrdiff_t x = tile % tile_columns_, y = tile / tile_columns_ % tile_rows_;
    return {tile / tile_columns_ / tile_rows_, y * tile_, x * tile_};
  }

  /// Transforms all channels of a tile into slot `at` of [frequency][channel block][slot][16].
  void input(std::ptrdiff_t tile, std::ptrdiff_t at, float* inputs) const {
    const Place p = place(tile);
    const std::ptrdiff_t y = p.y - top_, x = p.x - left_, blocks = weights_.row_blocks(),
                         frequency = blocks * at_once_ * channel_block;
    const bool inside = y >= 0 && x >= 0 && y + points_ <= in_.height && x + points_ <= in_.width;
    for (std::ptrdiff_t block = 0; block < blocks; ++block) {
      float* const to = inputs + (block * at_once_ + at) * channel_block;
      const std::ptrdiff_t from = in_.offset(p.n, 0, block) + y * in_.row + x * in_.pixel;
      if (inside && in_.type == DataType::fp32 && in_.count(block) == channel_block) {
        transform_input_(static_cast<const float*>(data_[0]) + from, in_.row, in_.pixel, to,
                         frequency);
        continue;
      }
      alignas(64) float patch[36 * channel_block] = {};
      const std::ptrdiff_t left = std::clamp<std::ptrdiff_t>(-x, 0, points_),
                           right = std::clamp<std::ptrdiff_t>(in_.width - x, left, points_);
      for (std::ptrdiff_t i = 0; i < points_; ++i)
        if (y + i >= 0 && y + i < in_.height && right > left)
          table_.load(in_.type, element(data_[0], in_.type, from + i * in_.row + left * in_.pixel),
                      in_.pixel, right - left, in_.count(block),
                      patch + (i * points_ + left) * channel_block, channel_block);
      transform_input_(patch, points_ * channel_block, channel_block, to, frequency);
    }
  }

  /// Transforms 16 input channels' filters of a panel into [frequency][input channel][column].
  void filters(std::ptrdiff_t panel, std::ptrdiff_t block, float* weights) const {
    const std::ptrdiff_t filter = 9 * channel_block,
                         last = std::min(weights_.rows, (block + 1) * channel_block);
    for (std::ptrdiff_t c = block * channel_block; c < last; ++c)
      for (std::ptrdiff_t j = 0; j < weights_.column_blocks(panel); ++j) {
        const std::ptrdiff_t outputs = panel * weights_.width / channel_block + j;
        alignas(64) float taps[9 * channel_block];
        table_.load(
            in_.type,
            element(data_[1], in_.type,
                    (outputs * weights_.rows + c) * filter + (turned_ ? 8 * channel_block : 0)),
            turned_ ? -channel_block : channel_block, 9, channel_block, taps, channel_block);
        transform_filter_(taps, weights + c * weights_.width + j * channel_block, weights_.panel());
      }
  }

  void multiply_and_store(std::ptrdiff_t first, std::ptrdiff_t last, std::ptrdiff_t panel,
                          const float* inputs, const float* weights, float* products) const {
    const std::ptrdiff_t column_blocks = weights_.column_blocks(panel),
                         frequency = at_once_ * weights_.width;
    for (std::ptrdiff_t f = 0; f < frequencies_; ++f)
      multiply(table_, table_.pixels, channel_block,
               inputs + f * weights_.row_blocks() * at_once_ * channel_block,
               weights + f * weights_.panel(), segments_.data(), weights_.row_blocks(),
               last - first, column_blocks,
               {products + f * frequency, weights_.width, channel_block}, false);
    for (std::ptrdiff_t tile = first; tile < last; ++tile)
      for (std::ptrdiff_t j = 0; j < column_blocks; ++j)
        output(place(tile), panel * weights_.width / channel_block + j,
               products + (tile - first) * weights_.width + j * channel_block, frequency);
  }

  void output(const Place& p, std::ptrdiff_t block, const float* products,
              std::ptrdiff_t frequency) const {
    const std::ptrdiff_t to = out_.offset(p.n, 0, block) + p.y * out_.row + p.x * out_.pixel,
                         rows = std::min<std::ptrdiff_t>(tile_, out_.height - p.y),
                         columns = std::min<std::ptrdiff_t>(tile_, out_.width - p.x);
    if (rows == tile_ && columns == tile_ && out_.type == DataType::fp32 &&
        out_.count(block) == channel_block) {
      transform_output_(products, frequency, static_cast<float*>(data_[2]) + to, out_.row,
                        out_.pixel);
      return;
    }
    alignas(64) float patch[16 * channel_block];
    transform_output_(products, frequency, patch, tile_ * channel_block, channel_block);
    for (std::ptrdiff_t i = 0; i < rows; ++i)
      table_.store(out_.type, patch + i * tile_ * channel_block, channel_block, columns,
                   out_.count(block), element(data_[2], out_.type, to + i * out_.row), out_.pixel);
  }

  const GemmTable& table_;
  std::ptrdiff_t tile_, points_, frequencies_;  ///< outputs, inputs of a tile; products of a tile
  int threads_;
  WinogradTable::Input transform_input_ = nullptr;
  WinogradTable::Filter transform_filter_ = nullptr;
  WinogradTable::Output transform_output_ = nullptr;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  Activations in_, out_;
  Panels weights_;       ///< of one frequency
  bool turned_ = false;  ///< filters are read from the last tap to the first
  std::ptrdiff_t top_ = 0, left_ = 0, images_ = 0, tile_rows_ = 0, tile_columns_ = 0, tiles_ = 0;
  bool tiles_in_blocks_ = true;
  std::ptrdiff_t at_once_ = 1;  ///< tiles of a block
  std::vector<Segment> segments_;
  std::ptrdiff_t shared_ = 0;                   ///< the side that is whole, in the workspace
  std::vector<std::ptrdiff_t> own_, products_;  ///< of each thread, in the workspace
  void* data_[3] = {};
  float* scratch_ = nullptr;
};

}  // namespace

std::string why_not_winograd(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  const auto no = [&](const std::string& why) {
    return fmt::format("native has no Winograd convolution of {} {} ({}). Use implicit_gemm.",
                       name(problem.direction()), to_descriptor(s), why);
  };
  if (problem.direction() == ConvDirection::bwd_weights)
    return no("its tiles of diff_dst would be filters of the size of the tile");
  if (s.kh != 3 || s.kw != 3) return no("filters must be 3x3");
  if (s.sh != 1 || s.sw != 1) return no("the stride must be 1");
  if (s.dh != 0 || s.dw != 0) return no("filters must be dense, without dilation");
  if (s.g != 1) return no("there must be one group");
  return "";
}

Made<std::unique_ptr<Operation>> make_winograd(const Request& request, int tile) {
  if (std::string why = why_not_winograd(request.problem); !why.empty())
    return Unsupported{std::move(why)};
  return std::make_unique<Winograd>(request, tile);
}

}  // namespace assay::native
