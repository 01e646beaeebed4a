#pragma once
// The common part of the forward and the backward pass of native recurrent networks: layouts of
// arrays, and packed weights.
//
// Activations are stored in blocks of 16 units: [block][row of the batch][16]. So the operands of a
// step's matrix product are whole cache lines for any number of rows, and the units of a block are
// contiguous over all rows. Units are padded to whole blocks with zeros, which stay zero.

#include <cstdint>
#include <vector>

#include "core/api/operation.hpp"
#include "kernels/native/conv_parts.hpp"
#include "kernels/native/rnn_gemm.hpp"
#include "kernels/native/rnn_simd.hpp"

namespace assay::native {

/// Rows of gradients of weights that are computed at once, in blocks of 16: as many rows as a batch
/// often has.
inline constexpr std::ptrdiff_t blocks_of_rows = 4;

/// Rows (steps times batch) of inference whose inputs and gates are held at once, so that long
/// sequences need no more memory.
inline constexpr std::ptrdiff_t rows_at_once = 4096;

/// The division of the columns of a matrix of weights among threads, into groups of blocks of 16
/// units. A block has the columns of all these gates, which are adjacent in a product.
struct RnnGroups {
  std::ptrdiff_t gate = 0, gates = 1;  ///< the first gate, and how many
  std::ptrdiff_t blocks = 0;           ///< of 16 units
  std::ptrdiff_t together = 1;         ///< blocks in a group; the last group may have fewer

  std::ptrdiff_t count() const { return count_blocks(blocks, together); }
  std::ptrdiff_t blocks_in(std::ptrdiff_t group) const {
    return std::min(together, blocks - group * together);
  }
  /// Most columns of a group. A packed group has room for as many columns of each row.
  std::ptrdiff_t columns() const { return together * gates * channel_block; }
  /// The size of all groups, packed.
  std::ptrdiff_t floats(std::ptrdiff_t rows) const { return count() * columns() * rows; }
};

/// One layer in one direction. Offsets are in floats; steps are in the order in which they are
/// computed. RnnStep explains `aside`.
struct RnnWalk {
  std::ptrdiff_t layer = 0, direction = 0;
  std::ptrdiff_t h = 0, c = 0;               ///< [kept + 1][unit blocks][N][16]
  std::ptrdiff_t gates = 0, diff = 0;        ///< [kept][G][unit blocks][N][16]
  std::ptrdiff_t aside = 0, diff_aside = 0;  ///< [kept][unit blocks][N][16]
  std::ptrdiff_t diff_h = 0, diff_c = 0;     ///< [unit blocks][N][16]
  std::ptrdiff_t pairs = 0;                  ///< bf16: h before and after a step, and r*h
  /// Packed weights: first those of the forward pass; those of the backward pass later take their
  /// place.
  std::ptrdiff_t recurrent = 0, inputs = 0;
};

/// Sizes and offsets of all arrays of one problem.
struct RnnPlan {
  RnnPlan(const RnnProblem& problem, int threads);

  RnnProblem problem;
  RnnShape s;
  int threads;
  /// True if operands of products are bf16. They are stored as bf16, 32 in a cache line instead of
  /// 16. All other values are fp32.
  bool pairs;
  std::ptrdiff_t per_line;
  std::ptrdiff_t width;               ///< most blocks of 16 columns of a panel
  std::ptrdiff_t unit_blocks, units;  ///< of one direction; units: padded H
  std::ptrdiff_t unit_lines;          ///< lines of units that are multiplied, of one row
  std::ptrdiff_t state;               ///< floats of one state, units * N
  std::ptrdiff_t operand;             ///< floats of one state as it is multiplied
  std::ptrdiff_t gates;               ///< floats of one step's gates
  std::ptrdiff_t batch_blocks;        ///< of 16 rows of the batch
  std::ptrdiff_t kept;                ///< steps that are held
  std::vector<RnnWalk> walks;
  /// The inputs of each layer, [T][blocks][N][16]; the first layer's inputs [kept][blocks][N][16].
  std::vector<std::ptrdiff_t> between;
  std::ptrdiff_t above = 0, below = 0;  ///< gradients of dst_layer, and of what a layer reads
  std::ptrdiff_t saved = 0;             ///< floats of all these
  std::ptrdiff_t packed = 0;            ///< floats of all packed weights
  /// Offsets in scratch: biases, arrays of one step, and at the end each thread's own memory for
  /// packed gradients.
  std::ptrdiff_t bias = 0, product = 0, arriving = 0, own = 0, scratch = 0;
  std::ptrdiff_t own_each = 0;
  /// Transposed operands of gradients of weights, in the scratch, and their steps.
  std::ptrdiff_t operands = 0, reduced_steps = 0;

  /// Gates whose recurrent products need only the state; gru's last gate needs r*h first.
  std::ptrdiff_t first_gates() const { return s.cell == RnnCell::gru ? 2 : s.gates(); }
  /// Groups of columns of gates [gate, gate + gates).
  RnnGroups groups(std::ptrdiff_t gate, std::ptrdiff_t gates_) const {
    return {gate, gates_, unit_blocks, gates_ > 1 ? 1 : together(unit_blocks)};
  }
  /// Groups of transposed weights, whose columns are `blocks` blocks of the inputs.
  RnnGroups transpose(std::ptrdiff_t blocks) const { return {0, 1, blocks, together(blocks)}; }
  /// Number of groups of input weights that a thread multiplies with all steps before it takes the
  /// next ones, so that they stay in its second-level cache.
  std::ptrdiff_t at_once(std::ptrdiff_t layer) const;

  /// Cache lines of values of one row that a layer reads at each step.
  std::ptrdiff_t input_blocks(std::ptrdiff_t layer) const {
    return layer == 0 ? count_blocks(problem.count_inputs(0), per_line) : s.directions * unit_lines;
  }
  /// Rows of packed recurrent weights, each of one number or pair for each column.
  std::ptrdiff_t unit_rows() const { return unit_lines * channel_block; }
  /// The offset of the recurrent weights of gru's last gate within those of a walk.
  std::ptrdiff_t last_recurrent() const { return groups(0, first_gates()).floats(unit_rows()); }
  std::ptrdiff_t time(const RnnWalk& walk, std::ptrdiff_t k) const {
    return walk.direction == 0 ? k : s.steps - 1 - k;
  }
  /// True if a walk reads its layer's inputs in parts of `kept` steps.
  bool reads_parts(const RnnWalk& walk) const { return walk.layer == 0 && kept < s.steps; }
  /// The place of step k of a walk among the inputs of its layer: in order of time, or within a
  /// part in the order of the walk.
  std::ptrdiff_t input_place(const RnnWalk& walk, std::ptrdiff_t k) const {
    return reads_parts(walk) ? k % kept : time(walk, k);
  }
  /// The row of a matrix of weights after padding. The values that a layer reads of each direction
  /// are padded to whole blocks.
  std::ptrdiff_t pad_row(std::ptrdiff_t layer, std::ptrdiff_t row) const {
    return layer == 0 ? row : row / s.hidden * unit_lines * per_line + row % s.hidden;
  }
  /// The reverse, for a matrix of `rows` rows; -1 for padding.
  std::ptrdiff_t plain_row(std::ptrdiff_t layer, std::ptrdiff_t at, std::ptrdiff_t rows) const {
    if (layer == 0) return at < rows ? at : -1;
    const std::ptrdiff_t direction = at / units, unit = at % units;
    return direction < s.directions && unit < s.hidden ? direction * s.hidden + unit : -1;
  }

 private:
  /// Blocks in a group of one gate, so few that the work is divided evenly among threads.
  std::ptrdiff_t together(std::ptrdiff_t blocks) const;
  /// Places the packed weights of all walks.
  void place_weights();
};

/// Copies plain memory [rows][columns], with rows `stride` apart, into blocks [blocks][rows][16],
/// and back.
void to_blocks(const float* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* blocks);
/// Copies bf16 numbers into [lines][rows][32].
void to_lines(const std::uint16_t* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
              std::ptrdiff_t columns, std::uint16_t* lines);
void from_blocks(const float* blocks, std::ptrdiff_t stride, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, float* plain);

/// Element `at` of a tensor of bf16 numbers, which is passed as a pointer to float like all others.
inline const std::uint16_t* bf16_at(const float* tensor, std::ptrdiff_t at) {
  return reinterpret_cast<const std::uint16_t*>(tensor) + at;
}
inline std::uint16_t* bf16_at(float* tensor, std::ptrdiff_t at) {
  return reinterpret_cast<std::uint16_t*>(tensor) + at;
}

/// Packs groups [first, last) of the columns of weights [rows][G*H], which begin at element
/// `weight`, for products. Each group becomes panels [padded rows][columns] or, in bf16, [pairs of
/// rows][columns][2]. `layer` determines how rows are padded.
void pack_groups(const RnnPlan& plan, const float* weights, std::ptrdiff_t weight,
                 std::ptrdiff_t rows, std::ptrdiff_t row_blocks, std::ptrdiff_t layer,
                 const RnnGroups& groups, std::ptrdiff_t first, std::ptrdiff_t last, float* to);
/// Packs one group of columns of the transposed weights, [gate][padded units][columns].
void pack_transposed(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                     std::ptrdiff_t layer, const RnnGroups& groups, std::ptrdiff_t group,
                     float* to);

}  // namespace assay::native
