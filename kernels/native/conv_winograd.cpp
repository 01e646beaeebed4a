// Winograd F(2x2, 3x3) and F(4x4, 3x3), forward and bwd_data (a forward convolution of diff_dst
// with the filters turned by 180 degrees).
//
// Tiles of inputs and filters are transformed, multiplied as one matrix product for each of 16 or
// 36 frequencies, and transformed back. Weights change at every step of training, so their
// transform is part of the run. The side with fewer transformed values is stored whole. The other
// side is transformed in blocks that stay in the second-level cache, by the thread that multiplies
// them:
//   tiles in blocks:   all weights, then for each block of tiles: inputs, products, outputs;
//   weights in blocks: all inputs, then for each panel of weights: weights, products, outputs.
// Blocks are reduced until the workspace is at most twice as large as the tensors in fp32, if that
// is possible.
//
// Transformed operands are fp32 or, on request, in the 16-bit type of the tensors. The side that is
// stored whole is then stored in 16 bits, and the thread that multiplies it widens it again. The
// other side is rounded alike, so that the error does not depend on the choice of the side.

#include <fmt/format.h>

#include "kernels/native/conv_parts.hpp"
#include "kernels/native/conv_winograd_plan.hpp"

namespace assay::native {
namespace {

class Winograd final : public ConvOperation {
 public:
  Winograd(const Request& request, int tile, DataType stored)
      : ConvOperation(request),
        stored_(stored),
        tile_(tile),
        points_(tile + 2),
        frequencies_(points_ * points_) {
    const ConvShape& s = request.problem.shape();
    const WinogradTable& transforms = winograd_table();
    transform_input_ = tile == 4 ? transforms.input4 : transforms.input2;
    transform_filter_ = tile == 4 ? transforms.filter4 : transforms.filter2;
    transform_output_ = tile == 4 ? transforms.output4 : transforms.output2;
    const bool forward = request.problem.direction() == ConvDirection::forward;
    in_ = lay_out_activations(arguments_[0], 1, request.blocked);
    out_ = lay_out_activations(arguments_[2], 1, request.blocked);
    lay_out_filters(forward);
    // Output (y, x) reads inputs beginning at (y - top, x - left).
    top_ = forward ? s.ph : 2 - s.ph;
    left_ = forward ? s.pw : 2 - s.pw;
    images_ = s.mb;
    tile_rows_ = count_blocks(out_.height, tile_);
    tile_columns_ = count_blocks(out_.width, tile_);
    tiles_ = images_ * tile_rows_ * tile_columns_;
    weights_ = {in_.channels, out_.channels, 1, table_.panel};
    plan(request.problem);
    execution_ =
        describe(request, fmt::format("winograd_{0}x{0}{1}", tile, narrow() ? "_16bit" : ""),
                 arguments_[3].bytes, queue_, forward ? "OIhw16o" : "IOhw16i");
    execution_.algorithm = "winograd";
    execution_.compute = std::string(name(stored_));
    if (narrow()) execution_.operand_roundings = 2;
    execution_.tile = tile;
    execution_.algorithmic_flops = count_winograd_flops(request.problem, tile);
  }

  void run(Stream&) override {
    queue_.begin();
#pragma omp parallel num_threads(threads_)
    if (plan_.by_tiles)
      by_tiles();
    else
      by_weights();
  }

 private:
  /// [output block of 16][input channel][tap][16]: nine vectors are the input of one filter
  /// transform.
  void lay_out_filters(bool forward) {
    const std::ptrdiff_t filter = 9 * channel_block;
    const Split outputs{channel_block, in_.channels * filter, 1}, inputs{1, filter, 0};
    // bwd_data reads taps in reverse order.
    Layout layout;
    layout.splits = {{1, 0, 0},
                     forward ? outputs : inputs,
                     forward ? inputs : outputs,
                     {1, 3 * channel_block, 0},
                     {1, channel_block, 0}};
    layout.elements = count_blocks(out_.channels, channel_block) * in_.channels * filter;
    arguments_[1].bytes = static_cast<std::size_t>(layout.elements) * size_of(arguments_[1].type);
    arguments_[1].layout = std::make_shared<const Layout>(std::move(layout));
    turned_ = !forward;
  }

  bool narrow() const { return stored_ != DataType::fp32; }

  void plan(const ConvProblem& problem) {
    const std::ptrdiff_t limit = workspace_limit(problem);
    plan_ = plan_winograd({weights_, frequencies_, tiles_, threads_, table_.rows, stored_}, limit);
    Scratch scratch;
    shared_ = scratch.reserve(plan_.resident);
    queue_.plan(scratch, threads_, plan_.parts, plan_.each(), limit);
    for (std::ptrdiff_t at = 0; at < weights_.row_blocks(); ++at)
      segments_.push_back({at * plan_.tiles * channel_block, at % plan_.blocks * weights_.block(),
                           std::min(channel_block, weights_.rows - at * channel_block)});
    arguments_.push_back(workspace(scratch.bytes()));
  }

  void by_tiles() {
    const std::ptrdiff_t panels = weights_.panels(), blocks = weights_.row_blocks(),
                         of_panel = frequencies_ * weights_.panel();
#pragma omp for schedule(static) collapse(2)
    for (std::ptrdiff_t panel = 0; panel < panels; ++panel)
      for (std::ptrdiff_t block = 0; block < blocks; ++block)
        filters(panel, block, resident(panel * of_panel), stored_);
    queue_.each(scratch(), [&](std::ptrdiff_t part, float* inputs) {
      float* const products = inputs + plan_.per_thread;
      const std::ptrdiff_t first = part * plan_.tiles, last = std::min(tiles_, first + plan_.tiles);
      for (std::ptrdiff_t tile = first; tile < last; ++tile)
        input(tile, tile - first, inputs, DataType::fp32);
      for (std::ptrdiff_t panel = 0; panel < panels; ++panel) {
        multiply_all(first, last, panel, 0, inputs, resident(panel * of_panel), products);
        store(first, last, panel, products);
      }
    });
  }

  void by_weights() {
    const std::ptrdiff_t blocks = weights_.row_blocks(),
                         block_of_tiles = frequencies_ * plan_.tiles * blocks * channel_block;
#pragma omp for schedule(static)
    for (std::ptrdiff_t tile = 0; tile < tiles_; ++tile)
      input(tile, tile % plan_.tiles, resident(tile / plan_.tiles * block_of_tiles), stored_);
    queue_.each(scratch(), [&](std::ptrdiff_t panel, float* weights) {
      float* const products = weights + plan_.per_thread;
      for (std::ptrdiff_t first = 0; first < tiles_; first += plan_.tiles) {
        const std::ptrdiff_t last = std::min(tiles_, first + plan_.tiles);
        // If the weights of a panel do not fit at once, each block of tiles transforms them again.
        for (std::ptrdiff_t from = 0; from < blocks; from += plan_.blocks) {
          if (first == 0 || plan_.blocks < blocks)
            for (std::ptrdiff_t at = from; at < std::min(blocks, from + plan_.blocks); ++at)
              filters(panel, at, weights, DataType::fp32);
          multiply_all(first, last, panel, from, resident(first / plan_.tiles * block_of_tiles),
                       weights, products);
        }
        store(first, last, panel, products);
      }
    });
  }

  /// Element `at` of the side that is stored whole.
  void* resident(std::ptrdiff_t at) const { return element(scratch() + shared_, stored_, at); }

  /// Stores the results of transform(to, step), 16 values for each frequency, at elements `at`, `at
  /// + step`, … of `to`. They are rounded to the type of transformed operands.
  template <class Transform>
  void keep(const Transform& transform, void* to, DataType type, std::ptrdiff_t at,
            std::ptrdiff_t step) const {
    if (!narrow()) return transform(static_cast<float*>(to) + at, step);
    alignas(64) float values[36 * channel_block];
    transform(values, channel_block);
    if (type == stored_)
      return table_.store(type, values, channel_block, frequencies_, channel_block,
                          element(to, type, at), step);
    alignas(64) std::uint16_t rounded[36 * channel_block];
    table_.store(stored_, values, channel_block, frequencies_, channel_block, rounded,
                 channel_block);
    table_.load(stored_, rounded, channel_block, frequencies_, channel_block,
                static_cast<float*>(to) + at, step);
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
  void input(std::ptrdiff_t tile, std::ptrdiff_t at, void* inputs, DataType type) const {
    const Place p = place(tile);
    const std::ptrdiff_t y = p.y - top_, x = p.x - left_, blocks = weights_.row_blocks(),
                         frequency = blocks * plan_.tiles * channel_block;
    const bool inside = y >= 0 && x >= 0 && y + points_ <= in_.height && x + points_ <= in_.width;
    for (std::ptrdiff_t block = 0; block < blocks; ++block) {
      const std::ptrdiff_t from = in_.offset(p.n, 0, block) + y * in_.row + x * in_.pixel;
      const auto transform = [&](float* to, std::ptrdiff_t step) {
        if (inside && in_.type == DataType::fp32 && in_.count(block) == channel_block)
          return transform_input_(static_cast<const float*>(data_[0]) + from, in_.row, in_.pixel,
                                  to, step);
        alignas(64) float patch[36 * channel_block] = {};
        const std::ptrdiff_t left = std::clamp<std::ptrdiff_t>(-x, 0, points_),
                             right = std::clamp<std::ptrdiff_t>(in_.width - x, left, points_);
        for (std::ptrdiff_t i = 0; i < points_; ++i)
          if (y + i >= 0 && y + i < in_.height && right > left)
            table_.load(in_.type,
                        element(data_[0], in_.type, from + i * in_.row + left * in_.pixel),
                        in_.pixel, right - left, in_.count(block),
                        patch + (i * points_ + left) * channel_block, channel_block);
        transform_input_(patch, points_ * channel_block, channel_block, to, step);
      };
      keep(transform, inputs, type, (block * plan_.tiles + at) * channel_block, frequency);
    }
  }

  /// Transforms the filters of 16 input channels of a panel into [frequency][input
  /// channel][column]. The array has the blocks of channels that are in memory at once.
  void filters(std::ptrdiff_t panel, std::ptrdiff_t block, void* weights, DataType type) const {
    const std::ptrdiff_t filter = 9 * channel_block, frequency = plan_.blocks * weights_.block(),
                         last = std::min(weights_.rows, (block + 1) * channel_block),
                         before = block / plan_.blocks * plan_.blocks * channel_block;
    for (std::ptrdiff_t c = block * channel_block; c < last; ++c)
      for (std::ptrdiff_t j = 0; j < weights_.column_blocks(panel); ++j) {
        const std::ptrdiff_t outputs = panel * weights_.width / channel_block + j;
        alignas(64) float taps[9 * channel_block];
        table_.load(
            in_.type,
            element(data_[1], in_.type,
                    (outputs * weights_.rows + c) * filter + (turned_ ? 8 * channel_block : 0)),
            turned_ ? -channel_block : channel_block, 9, channel_block, taps, channel_block);
        keep([&](float* to, std::ptrdiff_t step) { transform_filter_(taps, to, step); }, weights,
             type, (c - before) * weights_.width + j * channel_block, frequency);
      }
  }

  /// Multiplies a block of tiles with the panel's weights, for the blocks of channels from `from`
  /// on; adds the products to those of earlier blocks.
  void multiply_all(std::ptrdiff_t first, std::ptrdiff_t last, std::ptrdiff_t panel,
                    std::ptrdiff_t from, const void* inputs, const void* weights,
                    float* products) const {
    const std::ptrdiff_t count = std::min(plan_.blocks, weights_.row_blocks() - from),
                         tile_block = plan_.tiles * channel_block;
    float* const fp32_copy = products + plan_.products;
    for (std::ptrdiff_t f = 0; f < frequencies_; ++f) {
      const std::ptrdiff_t input = f * weights_.row_blocks() * tile_block,
                           weight = f * plan_.blocks * weights_.block();
      const float *a = nullptr, *b = nullptr;
      if (plan_.by_tiles) {
        a = static_cast<const float*>(inputs) + input;
        b = wide(weights, weight, 0, count * weights_.block(), fp32_copy);
      } else {
        a = wide(inputs, input, from * tile_block, count * tile_block, fp32_copy);
        b = static_cast<const float*>(weights) + weight;
      }
      multiply(table_, table_.pixels, channel_block, a, b, segments_.data() + from, count,
               last - first, weights_.column_blocks(panel),
               {products + f * plan_.tiles * weights_.width, weights_.width, channel_block},
               from > 0);
    }
  }
  /// One frequency, at element `at` of the side `all` that is stored whole, as fp32. If it is
  /// stored in 16 bits, values [from, from + count) are first widened to `to`.
  const float* wide(const void* all, std::ptrdiff_t at, std::ptrdiff_t from, std::ptrdiff_t count,
                    float* to) const {
    if (!narrow()) return static_cast<const float*>(all) + at;
    table_.load(stored_, element(all, stored_, at + from), channel_block, count / channel_block,
                channel_block, to + from, channel_block);
    return to;
  }

  void store(std::ptrdiff_t first, std::ptrdiff_t last, std::ptrdiff_t panel,
             const float* products) const {
    for (std::ptrdiff_t tile = first; tile < last; ++tile)
      for (std::ptrdiff_t j = 0; j < weights_.column_blocks(panel); ++j)
        output(place(tile), panel * weights_.width / channel_block + j,
               products + (tile - first) * weights_.width + j * channel_block,
               plan_.tiles * weights_.width);
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

  DataType stored_;                             ///< of transformed operands
  std::ptrdiff_t tile_, points_, frequencies_;  ///< outputs, inputs of a tile; products of a tile
  WinogradTable::Input transform_input_ = nullptr;
  WinogradTable::Filter transform_filter_ = nullptr;
  WinogradTable::Output transform_output_ = nullptr;
  Activations in_, out_;
  Panels weights_;       ///< of one frequency
  bool turned_ = false;  ///< filters are read from the last tap to the first
  std::ptrdiff_t top_ = 0, left_ = 0, images_ = 0, tile_rows_ = 0, tile_columns_ = 0, tiles_ = 0;
  WinogradPlan plan_;
  WorkQueue queue_;
  std::vector<Segment> segments_;
  std::ptrdiff_t shared_ = 0;  ///< the side that is stored whole, in the workspace
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

Result<std::unique_ptr<Operation>> make_winograd(const Request& request, int tile, bool narrow) {
  if (std::string why = why_not_winograd(request.problem); !why.empty())
    return Unsupported{std::move(why)};
  const DataType type = storage(request.problem.precision());
  if (narrow && size_of(type) != 2)
    return Unsupported{fmt::format(
        "native stores transformed operands in 16 bits for tensors of 16 bits alone ({} was asked "
        "for). Use winograd_{}x{}.",
        name(type), tile, tile)};
  return std::make_unique<Winograd>(request, tile, narrow ? type : DataType::fp32);
}

}  // namespace assay::native
