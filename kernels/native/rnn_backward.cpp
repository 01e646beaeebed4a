// Backward through time: the gradients of the gates' sums, step by step; then those of the inputs
// of all steps, and those of the weights.

#include <algorithm>
#include <cstring>

#include "kernels/native/rnn_network.hpp"

namespace assay::native {

void RnnNetwork::backward_data() {
  const RnnShape& s = plan_.s;
  above_ = saved_ + plan_.above;
  below_ = saved_ + plan_.below;
  read_sequence("diff_dst_layer", s.hidden, s.directions, above_);
  read_state("diff_dst_iter", &RnnWalk::diff_h);
  if (plan_.problem.has_cell_state()) read_state("diff_dst_iter_c", &RnnWalk::diff_c);
  for (std::ptrdiff_t l = s.layers - 1; l >= 0; --l) {
    for (std::ptrdiff_t d = 0; d < s.directions; ++d)
      backward(plan_.walks[static_cast<std::size_t>(l * s.directions + d)]);
    if (l == 0 && tensor("diff_src_layer") == nullptr) break;
    for (std::ptrdiff_t d = 0; d < s.directions; ++d)
      diff_inputs(plan_.walks[static_cast<std::size_t>(l * s.directions + d)]);
    std::swap(above_, below_);
  }
  write_sequence(above_, plan_.problem.count_inputs(0), 1, "diff_src_layer");
  write_state("diff_src_iter", &RnnWalk::diff_h, 0);
  write_state("diff_src_iter_c", &RnnWalk::diff_c, 0);
}

RnnBackStep RnnNetwork::back_step_at(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t block,
                                     const float* diff_h, float* arriving) const {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t at = block * s.batch * channel_block, now = k * plan_.state + at;
  RnnBackStep step{};
  for (std::ptrdiff_t g = 0; g < s.gates(); ++g) {
    step.gates[g] = saved_ + walk.gates + k * plan_.gates + g * plan_.state + at;
    step.diff[g] = saved_ + walk.diff + k * plan_.gates + g * plan_.state + at;
  }
  step.h = saved_ + walk.h + now;
  step.c = saved_ + walk.c + now;
  step.next_c = saved_ + walk.c + now + plan_.state;
  step.aside = saved_ + walk.aside + now;
  step.diff_out = above_ + (plan_.time(walk, k) * s.directions + walk.direction) * plan_.state + at;
  step.diff_h = diff_h + at;
  step.diff_c = saved_ + walk.diff_c + at;
  step.diff_aside = saved_ + walk.diff_aside + now;
  step.arriving = arriving + at;
  step.product = scratch_ + plan_.product + at;
  step.count = s.batch * channel_block;
  return step;
}

void RnnNetwork::backward(const RnnWalk& walk) {
#pragma omp parallel num_threads(threads_)
  {
    float *diff_h = saved_ + walk.diff_h, *arriving = scratch_ + plan_.arriving;
    for (std::ptrdiff_t k = plan_.s.steps - 1; k >= 0; --k) {
      backward_step(walk, k, diff_h, arriving);
      std::swap(diff_h, arriving);
    }
    if (diff_h != saved_ + walk.diff_h) {
#pragma omp for schedule(static)
      for (std::ptrdiff_t i = 0; i < plan_.state; ++i) saved_[walk.diff_h + i] = diff_h[i];
    }
  }
}

/// One gate of a group of transposed weights; the transposed weights begin at `weights`.
const float* RnnNetwork::transpose_group(std::ptrdiff_t weights, const RnnGroups& groups,
                                         std::ptrdiff_t group, std::ptrdiff_t gate) const {
  return packed_ + weights + group * groups.columns() * plan_.s.gates() * plan_.units +
         gate * plan_.units * groups.blocks_in(group) * channel_block;
}

/// Adds the products of one gate with a thread's transposed weights. Prefetches the first weights
/// of the next gate.
void RnnNetwork::through_gate(const RnnWalk& walk, const float* diff, std::ptrdiff_t gate,
                              std::ptrdiff_t next, float* to) const {
  const RnnGroups groups = plan_.transpose(plan_.unit_blocks);
  const Share mine = share(groups.count());
  RnnProduct product{};
  product.a = diff;
  product.blocks = plan_.unit_blocks;
  product.add = true;
  for (std::ptrdiff_t group = mine.first; group < mine.last; ++group) {
    product.b = transpose_group(walk.recurrent, groups, group, gate);
    product.next = group + 1 < mine.last
                       ? transpose_group(walk.recurrent, groups, group + 1, gate)
                       : transpose_group(walk.recurrent, groups, mine.first, next);
    multiply_group(groups, group, product, {to});
  }
}

void RnnNetwork::backward_step(const RnnWalk& walk, std::ptrdiff_t k, float* diff_h,
                               float* arriving) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, G = s.gates();
  const RnnGroups groups = plan_.transpose(plan_.unit_blocks);
  const Share mine = share(groups.count());
  const std::ptrdiff_t begin = mine.first * groups.together,
                       end = std::min(mine.last * groups.together, plan_.unit_blocks);
  const float *const diff = saved_ + walk.diff + k * plan_.gates, *const aside = saved_ +
                                                                                 walk.diff_aside +
                                                                                 k * plan_.state;
  for (std::ptrdiff_t b = begin; b < end; ++b)
    cells_.backward(s.cell, back_step_at(walk, k, b, diff_h, arriving));
#pragma omp barrier
  if (s.cell == RnnCell::gru) {
    float* const product = scratch_ + plan_.product;
    std::fill(product + begin * line, product + end * line, 0.0f);
    through_gate(walk, diff + 2 * plan_.state, 2, 0, product);
    for (std::ptrdiff_t b = begin; b < end; ++b)
      cells_.finish_backward(back_step_at(walk, k, b, diff_h, arriving));
#pragma omp barrier
  }
  const std::ptrdiff_t last = s.cell == RnnCell::gru ? 2 : G;
  for (std::ptrdiff_t g = 0; g < last; ++g)
    through_gate(walk, s.cell == RnnCell::gru_lbr && g == 2 ? aside : diff + g * plan_.state, g,
                 g + 1 < G ? g + 1 : 0, arriving);
#pragma omp barrier
}

/// Products of one gate of all steps with a group of transposed input weights. The group's part for
/// one gate stays in the second-level cache.
void RnnNetwork::through_inputs(const RnnWalk& walk, const RnnGroups& groups, std::ptrdiff_t group,
                                std::ptrdiff_t gate, bool add) const {
  const std::ptrdiff_t step = plan_.input_blocks(walk.layer) * plan_.s.batch * channel_block;
  RnnProduct product{};
  product.b = transpose_group(walk.inputs, groups, group, gate);
  product.blocks = plan_.unit_blocks;
  product.add = add;
  product.fetches_a = true;
  for (std::ptrdiff_t k = 0; k < plan_.s.steps; ++k) {
    product.a = saved_ + walk.diff + k * plan_.gates + gate * plan_.state;
    product.next = k + 1 < plan_.s.steps ? product.a + plan_.gates : nullptr;
    multiply_group(groups, group, product, {below_ + plan_.time(walk, k) * step});
  }
}

/// Adds the gradients of the second direction to those of the first.
void RnnNetwork::diff_inputs(const RnnWalk& walk) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, blocks = plan_.input_blocks(walk.layer),
                       G = s.gates();
  const bool add = walk.direction > 0;
  const bool weights = input_weight(walk) >= 0;
#pragma omp parallel num_threads(threads_)
  {
    const RnnGroups groups = plan_.transpose(blocks);
    const Share mine = share(groups.count());
    for (std::ptrdiff_t group = mine.first; group < mine.last; ++group) {
      const std::ptrdiff_t block = group * groups.together;
      for (std::ptrdiff_t g = 0; g < (weights ? G : 0); ++g)
        through_inputs(walk, groups, group, g, add || g > 0);
      for (std::ptrdiff_t k = 0; k < (weights ? 0 : s.steps); ++k) {
        const float* const diff = saved_ + walk.diff + k * plan_.gates;
        float* const to = below_ + plan_.time(walk, k) * blocks * line;
        for (std::ptrdiff_t i = block * line; i < (block + groups.blocks_in(group)) * line; ++i) {
          float sum = add ? to[i] : 0;  // x was added to every gate
          for (std::ptrdiff_t g = 0; g < G; ++g) sum += diff[g * plan_.state + i];
          to[i] = sum;
        }
      }
    }
  }
}

void RnnNetwork::backward_weights() {
  for (const RnnWalk& walk : plan_.walks) weight_gradients(walk);
}

/// Products of operands [k][blocks][N][16] with the gradients of the gates' sums, summed over steps
/// and rows of the batch.
struct RnnNetwork::Reduction {
  const float* operands;  ///< of the first step; the next lie `step` apart
  std::ptrdiff_t step;
  std::ptrdiff_t blocks;  ///< of 16 operands
  std::ptrdiff_t gate, gates;
  const float* diff;  ///< of the first of these gates; steps lie `diff_step` apart
  std::ptrdiff_t diff_step;
  std::ptrdiff_t layer, rows;  ///< padding of rows, and their number
  float* to;                   ///< [rows][G*H]
};

/// Arranges the operands of steps [first, first + count) for products. Each part of the rows
/// becomes [blocks of 16 rows of the batch][row][16], padded with zeros. All threads call it.
void RnnNetwork::transpose_operands(const Reduction& reduction, std::ptrdiff_t first,
                                    std::ptrdiff_t count) const {
  const std::ptrdiff_t N = plan_.s.batch, each = plan_.batch_blocks;
#pragma omp for collapse(2) schedule(static)
  for (std::ptrdiff_t k = 0; k < count; ++k)
    for (std::ptrdiff_t b = 0; b < reduction.blocks; ++b) {
      const float* const from =
          reduction.operands + (first + k) * reduction.step + b * N * channel_block;
      const std::ptrdiff_t part = b / blocks_of_rows * blocks_of_rows,
                           rows = std::min(blocks_of_rows, reduction.blocks - part) * channel_block;
      float* to = scratch_ + plan_.operands + part * channel_block * count * each * channel_block +
                  (k * each * rows + (b - part) * channel_block) * channel_block;
      for (std::ptrdiff_t n = 0; n < N; n += channel_block, to += rows * channel_block)
        for (std::ptrdiff_t r = 0; r < channel_block; ++r)
          for (std::ptrdiff_t i = 0; i < channel_block; ++i)
            to[r * channel_block + i] = n + i < N ? from[(n + i) * channel_block + r] : 0.0f;
    }
}

/// Arranges the gradients of one gate and group of columns for products.
void RnnNetwork::repack_gradients(const Reduction& reduction, std::ptrdiff_t gate,
                                  std::ptrdiff_t block, std::ptrdiff_t width, std::ptrdiff_t first,
                                  std::ptrdiff_t count, float* to) const {
  const std::ptrdiff_t N = plan_.s.batch, line = N * channel_block, columns = width * channel_block,
                       padding = (plan_.batch_blocks * channel_block - N) * columns;
  for (std::ptrdiff_t k = first; k < first + count; ++k) {
    const float* const diff = reduction.diff + k * reduction.diff_step +
                              (gate - reduction.gate) * plan_.state + block * line;
    for (std::ptrdiff_t n = 0; n < N; ++n)
      for (std::ptrdiff_t v = 0; v < width; ++v, to += channel_block)
        std::memcpy(to, diff + v * line + n * channel_block, channel_block * sizeof(float));
    std::fill_n(to, padding, 0.0f);
    to += padding;
  }
}

/// Copies a tile [columns / 16][rows][16] of a gate's gradients from or to the tensor, which has no
/// padding.
template <class Copy>
void RnnNetwork::each_line(const Reduction& reduction, std::ptrdiff_t gate, std::ptrdiff_t block,
                           const RnnProduct& product, std::ptrdiff_t row, const Copy& copy) const {
  const std::ptrdiff_t H = plan_.s.hidden;
  for (std::ptrdiff_t r = 0; r < product.rows; ++r) {
    const std::ptrdiff_t plain = plan_.plain_row(reduction.layer, row + r, reduction.rows);
    if (plain < 0) continue;
    for (int v = 0; v < product.width; ++v) {
      const std::ptrdiff_t column = (block + v) * channel_block;
      copy(product.c[v] + r * channel_block,
           reduction.to + (plain * plan_.s.gates() + gate) * H + column,
           std::min(channel_block, H - column));
    }
  }
}

/// One gate and group of columns, all rows, steps [first, first + count).
void RnnNetwork::reduce_group(const Reduction& reduction, std::ptrdiff_t gate, std::ptrdiff_t group,
                              std::ptrdiff_t first, std::ptrdiff_t count) const {
  const RnnGroups groups = plan_.transpose(plan_.unit_blocks);
  const std::ptrdiff_t block = group * groups.together;
  RnnProduct product{};
  product.width = static_cast<int>(groups.blocks_in(group));
  product.blocks = count * plan_.batch_blocks;
  product.add = first > 0;
  product.fetches_a = true;
  float* const packed = own();
  float* const tile = packed + product.blocks * channel_block * product.width * channel_block;
  repack_gradients(reduction, gate, block, product.width, first, count, packed);
  product.b = packed;
  const float* const operands = scratch_ + plan_.operands;
  for (std::ptrdiff_t part = 0; part < reduction.blocks; part += blocks_of_rows) {
    product.rows = std::min(blocks_of_rows, reduction.blocks - part) * channel_block;
    product.a_block = product.rows * channel_block;
    product.a = operands + part * channel_block * product.blocks * channel_block;
    product.next = part + blocks_of_rows < reduction.blocks
                       ? product.a + product.blocks * product.a_block
                       : operands;
    for (int v = 0; v < product.width; ++v) product.c[v] = tile + v * product.a_block;
    const auto each = [&](const auto& copy) {
      each_line(reduction, gate, block, product, part * channel_block, copy);
    };
    if (product.add)
      each([](float* sums, const float* plain, std::ptrdiff_t columns) {
        std::copy_n(plain, columns, sums);
      });
    multiply_(product);
    each([](const float* sums, float* plain, std::ptrdiff_t columns) {
      if (columns == channel_block)
        std::memcpy(plain, sums, channel_block * sizeof(float));
      else
        std::copy_n(sums, columns, plain);
    });
  }
}

/// All threads call it.
void RnnNetwork::reduce(const Reduction& reduction) const {
  const std::ptrdiff_t steps = plan_.s.steps, passes = count_blocks(steps, plan_.reduced_steps),
                       groups = plan_.transpose(plan_.unit_blocks).count();
  for (std::ptrdiff_t pass = 0; pass < passes; ++pass) {  // all passes have about the same number
                                                          // of steps
    const std::ptrdiff_t first = steps * pass / passes, count = steps * (pass + 1) / passes - first;
    transpose_operands(reduction, first, count);
#pragma omp for collapse(2) schedule(static)
    for (std::ptrdiff_t g = reduction.gate; g < reduction.gate + reduction.gates; ++g)
      for (std::ptrdiff_t group = 0; group < groups; ++group)
        reduce_group(reduction, g, group, first, count);
  }
}

void RnnNetwork::weight_gradients(const RnnWalk& walk) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t G = s.gates(), weight = input_weight(walk);
  // The first gates multiply h; the third gate of gru and gru_lbr has its own operand or gradient.
  const std::ptrdiff_t gates = G == 3 ? 2 : G;
  const float *const h = saved_ + walk.h, *const diff = saved_ + walk.diff;
  float* const iter = tensor("diff_weights_iter") + recurrent_weight(walk);
#pragma omp parallel num_threads(threads_)
  {
    reduce({h, plan_.state, plan_.unit_blocks, 0, gates, diff, plan_.gates, 0, s.hidden, iter});
    if (s.cell == RnnCell::gru)
      reduce({saved_ + walk.aside, plan_.state, plan_.unit_blocks, 2, 1, diff + 2 * plan_.state,
              plan_.gates, 0, s.hidden, iter});
    if (s.cell == RnnCell::gru_lbr)
      reduce({h, plan_.state, plan_.unit_blocks, 2, 1, saved_ + walk.diff_aside, plan_.state, 0,
              s.hidden, iter});
    if (weight >= 0) {
      const std::ptrdiff_t blocks = plan_.input_blocks(walk.layer),
                           size = blocks * s.batch * channel_block;
      reduce({saved_ + plan_.between[static_cast<std::size_t>(walk.layer)] +
                  plan_.time(walk, 0) * size,
              walk.direction == 0 ? size : -size, blocks, 0, G, diff, plan_.gates, walk.layer,
              plan_.problem.count_inputs(walk.layer), tensor("diff_weights_layer") + weight});
    }
  }
  bias_gradients(walk);
}

void RnnNetwork::bias_gradients(const RnnWalk& walk) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, H = s.hidden;
  float* const to = tensor("diff_bias") + index(walk) * s.biases() * H;
#pragma omp parallel for collapse(2) num_threads(threads_) schedule(static)
  for (std::ptrdiff_t g = 0; g < s.biases(); ++g)
    for (std::ptrdiff_t b = 0; b < plan_.unit_blocks; ++b) {
      const bool aside = g == s.gates();
      const float* from =
          saved_ + (aside ? walk.diff_aside : walk.diff + g * plan_.state) + b * line;
      float sums[channel_block] = {};
      for (std::ptrdiff_t k = 0; k < s.steps; ++k, from += aside ? plan_.state : plan_.gates)
        for (std::ptrdiff_t i = 0; i < line; i += channel_block)
          for (std::ptrdiff_t j = 0; j < channel_block; ++j) sums[j] += from[i + j];
      std::copy_n(sums, std::min(channel_block, H - b * channel_block),
                  to + g * H + b * channel_block);
    }
}

}  // namespace assay::native
