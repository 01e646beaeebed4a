#include "kernels/native/rnn_parts.hpp"

#include <algorithm>
#include <utility>

namespace assay::native {

RnnPlan::RnnPlan(const RnnProblem& of)
    : problem(of),
      s(of.shape()),
      panel(gemm_table().panel),
      unit_blocks(blocks_of(s.hidden, channel_block)),
      units(unit_blocks * channel_block),
      state(units * s.batch),
      gates(s.gates() * state),
      kept(of.direction() == RnnDirection::forward_inference
               ? std::min<std::ptrdiff_t>(s.steps, blocks_of(rows_at_once, s.batch))
               : s.steps) {
  const auto save = [this](std::ptrdiff_t floats) { return std::exchange(saved, saved + floats); };
  const auto take = [this](std::ptrdiff_t floats) {
    return std::exchange(scratch, scratch + padded(floats, channel_block));
  };
  const bool backward = !is_forward(of.direction());
  const std::ptrdiff_t line = s.batch * channel_block;
  std::ptrdiff_t widest = s.directions * unit_blocks;
  for (std::ptrdiff_t l = 0; l <= s.layers; ++l) {
    const std::ptrdiff_t blocks = l < s.layers ? input_blocks(l) : s.directions * unit_blocks;
    widest = std::max(widest, blocks);
    between.push_back(save(s.steps * blocks * line));
  }
  for (std::ptrdiff_t i = 0; i < s.layers * s.directions; ++i) {
    RnnWalk walk{i / s.directions, i % s.directions};
    walk.h = save((kept + 1) * state);
    if (of.has_cell_state()) walk.c = save((kept + 1) * state);
    walk.gates = save(kept * gates);
    if (s.gates() == 3) walk.aside = save(kept * state);
    if (backward) {
      walk.diff = save(kept * gates);
      if (s.cell == RnnCell::gru_lbr) walk.diff_aside = save(kept * state);
      walk.diff_h = save(state);
      walk.diff_c = save(state);
    }
    walks.push_back(walk);
  }
  if (backward) {
    above = save(s.steps * widest * line);
    below = save(s.steps * widest * line);
  }
  // A layer's weights are packed one way at a time; either way needs as much or less than this.
  const std::ptrdiff_t of_iter = s.gates() * std::max(panels(unit_blocks) * panel, units) *
                                 std::max(panels(unit_blocks) * panel, units),
                       of_layer = s.gates() * std::max(panels(unit_blocks) * panel, units) *
                                  std::max(panels(widest) * panel, widest * channel_block);
  recurrent = take(of_iter);
  weights = take(of.weighted_layers() > 0 ? of_layer : 0);
  bias = take(s.layers * s.directions * s.biases() * units);
  product = take(state);
  arriving = take(state);
  if (!backward) return;
  repacked_steps = std::min<std::ptrdiff_t>(s.steps, blocks_of(rows_at_once, s.batch));
  repacked_each =
      (repacked_steps * s.batch + std::max(widest, unit_blocks) * channel_block) * panel;
  repacked = scratch;  // one for each thread: the last
}

void to_blocks(const float* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* blocks) {
  for (std::ptrdiff_t first = 0; first < columns; first += channel_block)
    for (std::ptrdiff_t r = 0; r < rows; ++r, blocks += channel_block) {
      const std::ptrdiff_t count = std::min(channel_block, columns - first);
      std::copy_n(plain + r * stride + first, count, blocks);
      std::fill(blocks + count, blocks + channel_block, 0.0f);
    }
}

void from_blocks(const float* blocks, std::ptrdiff_t stride, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, float* plain) {
  for (std::ptrdiff_t first = 0; first < columns; first += channel_block)
    for (std::ptrdiff_t r = 0; r < rows; ++r, blocks += channel_block)
      std::copy_n(blocks, std::min(channel_block, columns - first), plain + r * stride + first);
}

void pack_weights(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                  std::ptrdiff_t row_blocks, std::ptrdiff_t layer, float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(), P = plan.panels(plan.unit_blocks),
                       panel = plan.panel, size = row_blocks * channel_block * panel;
#pragma omp for collapse(2) schedule(static)
  for (std::ptrdiff_t g = 0; g < G; ++g)
    for (std::ptrdiff_t p = 0; p < P; ++p) {
      float* const own = to + (g * P + p) * size;
      const std::ptrdiff_t first = p * panel, count = std::min(panel, H - first);
      if (count < panel || rows < row_blocks * channel_block) std::fill_n(own, size, 0.0f);
      for (std::ptrdiff_t r = 0; r < rows; ++r)
        std::copy_n(weights + (r * G + g) * H + first, count,
                    own + plan.padded_row(layer, r) * panel);
    }
}

void pack_transposed(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                     std::ptrdiff_t row_blocks, std::ptrdiff_t layer, float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(), P = plan.panels(row_blocks),
                       panel = plan.panel, size = G * plan.units * panel;
#pragma omp for schedule(static)
  for (std::ptrdiff_t p = 0; p < P; ++p) {
    float* const own = to + p * size;
    std::fill_n(own, size, 0.0f);
    for (std::ptrdiff_t g = 0; g < G; ++g)
      for (std::ptrdiff_t first = 0; first < H; first += channel_block)
        for (std::ptrdiff_t at = 0; at < panel; ++at) {
          const std::ptrdiff_t r = plan.plain_row(layer, p * panel + at, rows);
          if (r < 0) continue;
          for (std::ptrdiff_t j = first; j < std::min(H, first + channel_block); ++j)
            own[(g * plan.units + j) * panel + at] = weights[(r * G + g) * H + j];
        }
  }
}

std::vector<Segment> segments_of(const RnnPlan& plan, std::ptrdiff_t blocks) {
  std::vector<Segment> all;
  for (std::ptrdiff_t b = 0; b < blocks; ++b)
    all.push_back(
        {b * plan.s.batch * channel_block, b * channel_block * plan.panel, channel_block});
  return all;
}

}  // namespace assay::native
