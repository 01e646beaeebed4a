#pragma once
// What the forward and the backward pass of native recurrent networks share: where arrays lie, and
// packed weights.
//
// Activations lie in blocks of 16 units: [block][row of the batch][16]. So a step of any number of
// rows is rows of a product whose operands are cache lines, and the units of a block, for all rows,
// lie together. Units are padded to whole blocks with zeros, which stay zero.

#include <span>
#include <vector>

#include "core/api/operation.hpp"
#include "kernels/native/conv_parts.hpp"
#include "kernels/native/rnn_simd.hpp"

namespace assay::native {

/// Steps of inference whose gates are held at once, so that long sequences need no more memory.
inline constexpr std::ptrdiff_t rows_at_once = 4096;

/// One layer in one direction; offsets in floats. Steps are in the order in which they are walked.
struct RnnWalk {
  std::ptrdiff_t layer = 0, direction = 0;
  std::ptrdiff_t h = 0, c = 0;               ///< [kept + 1][unit blocks][N][16]
  std::ptrdiff_t gates = 0, diff = 0;        ///< [kept][G][unit blocks][N][16]
  std::ptrdiff_t aside = 0, diff_aside = 0;  ///< [kept][unit blocks][N][16]
  std::ptrdiff_t diff_h = 0, diff_c = 0;     ///< [unit blocks][N][16]
};

/// Sizes and places of everything that one problem needs.
struct RnnPlan {
  explicit RnnPlan(const RnnProblem& problem);

  RnnProblem problem;
  RnnShape s;
  std::ptrdiff_t panel;               ///< columns of packed weights
  std::ptrdiff_t unit_blocks, units;  ///< of one direction; units: padded H
  std::ptrdiff_t state;               ///< floats of one state, units * N
  std::ptrdiff_t gates;               ///< floats of one step's gates
  std::ptrdiff_t kept;                ///< steps that are held
  std::vector<RnnWalk> walks;
  std::vector<std::ptrdiff_t> between;  ///< what each layer reads, [T][blocks][N][16]; dst_layer
  std::ptrdiff_t above = 0, below = 0;  ///< gradients of dst_layer, and of what a layer reads
  std::ptrdiff_t saved = 0;             ///< floats of all these
  /// Scratch: packed weights of one layer and direction, biases, and what a step needs.
  std::ptrdiff_t weights = 0, recurrent = 0, bias = 0, product = 0, arriving = 0, repacked = 0,
                 scratch = 0;
  std::ptrdiff_t repacked_each = 0, repacked_steps = 0;

  /// Blocks of 16 values that a layer reads at each step.
  std::ptrdiff_t input_blocks(std::ptrdiff_t layer) const {
    return layer == 0 ? blocks_of(problem.inputs_of(0), channel_block) : s.directions * unit_blocks;
  }
  std::ptrdiff_t panels(std::ptrdiff_t blocks) const {
    return blocks_of(blocks * channel_block, panel);
  }
  /// Blocks of panel `at` of `blocks`.
  std::ptrdiff_t blocks_in(std::ptrdiff_t at, std::ptrdiff_t blocks) const {
    return std::min(panel / channel_block, blocks - at * (panel / channel_block));
  }
  std::ptrdiff_t time(const RnnWalk& walk, std::ptrdiff_t k) const {
    return walk.direction == 0 ? k : s.steps - 1 - k;
  }
  /// Row of a matrix of weights as it is padded: what a layer reads of each direction ends with a
  /// whole block.
  std::ptrdiff_t padded_row(std::ptrdiff_t layer, std::ptrdiff_t row) const {
    return layer == 0 ? row : row / s.hidden * units + row % s.hidden;
  }
  /// The way back, for one of `rows` rows; -1: padding.
  std::ptrdiff_t plain_row(std::ptrdiff_t layer, std::ptrdiff_t at, std::ptrdiff_t rows) const {
    if (layer == 0) return at < rows ? at : -1;
    const std::ptrdiff_t direction = at / units, unit = at % units;
    return direction < s.directions && unit < s.hidden ? direction * s.hidden + unit : -1;
  }
};

/// [rows][columns] of plain memory, rows `stride` apart, into blocks [blocks][rows][16], and back.
void to_blocks(const float* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* blocks);
void from_blocks(const float* blocks, std::ptrdiff_t stride, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, float* plain);

/// Weights [rows][G*H] as panels of columns, [gate][panel][padded rows][panel columns]. `layer`
/// tells how rows are padded. Called by all threads of a parallel region.
void pack_weights(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                  std::ptrdiff_t row_blocks, std::ptrdiff_t layer, float* to);
/// Their transposed, [panel of rows][gate][padded units][panel columns].
void pack_transposed(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                     std::ptrdiff_t row_blocks, std::ptrdiff_t layer, float* to);

/// Segments of a reduction over `blocks` blocks of units, whose first is `first` blocks into both.
std::vector<Segment> segments_of(const RnnPlan& plan, std::ptrdiff_t blocks);

}  // namespace assay::native
