#include "kernels/native/rnn_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::native {

namespace {

/// Floats of packed weights that a thread reads again and again: half of a second cache.
constexpr std::ptrdiff_t cached_floats = 1 << 18;
/// Rows from which packing reads ahead: they lie in pages of their own, where no processor expects
/// them.
constexpr std::ptrdiff_t rows_ahead = 16;

/// At most a block; a whole one by instructions of a fixed size.
void copy_block(const float* from, std::ptrdiff_t count, float* to) {
  if (count >= channel_block)
    std::memcpy(to, from, channel_block * sizeof(float));
  else
    std::copy_n(from, count, to);
}

}  // namespace

RnnPlan::RnnPlan(const RnnProblem& of, int of_threads)
    : problem(of),
      s(of.shape()),
      threads(of_threads),
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
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    widest = std::max(widest, input_blocks(l));
    between.push_back(save(s.steps * input_blocks(l) * line));
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
  recurrent = take(s.gates() * units * padded(units, rnn_gemm().width * channel_block));
  bias = take(s.layers * s.directions * s.biases() * units);
  product = take(state);
  arriving = take(state);
  own = scratch;
  for (std::ptrdiff_t l = 0; l < s.layers; ++l)
    own_each = std::max(
        own_each, at_once(l) * groups(0, s.gates()).columns() * input_blocks(l) * channel_block);
  if (!backward) return;
  own_each = std::max(own_each, transposed(widest).columns() * s.gates() * units);
  repacked_steps = std::min<std::ptrdiff_t>(s.steps, blocks_of(rows_at_once, s.batch));
  own_each = std::max(own_each, (repacked_steps * s.batch + widest * channel_block) * panel);
}

std::ptrdiff_t RnnPlan::together(std::ptrdiff_t blocks) const {
  std::ptrdiff_t best = 1, least = blocks_of(blocks, threads);
  for (std::ptrdiff_t each = 2; each <= rnn_gemm().width; ++each) {
    const std::ptrdiff_t most = blocks_of(blocks_of(blocks, each), threads) * each;
    if (most > least + least / 16) continue;
    best = each;
  }
  return best;
}

std::ptrdiff_t RnnPlan::at_once(std::ptrdiff_t layer) const {
  const RnnGroups all = groups(0, s.gates());
  const std::ptrdiff_t each = all.columns() * input_blocks(layer) * channel_block;
  return std::clamp(cached_floats / each, std::ptrdiff_t{1}, blocks_of(all.count(), threads));
}

void to_blocks(const float* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* blocks) {
  for (std::ptrdiff_t first = 0; first < columns; first += channel_block)
    for (std::ptrdiff_t r = 0; r < rows; ++r, blocks += channel_block) {
      const std::ptrdiff_t count = std::min(channel_block, columns - first);
      copy_block(plain + r * stride + first, count, blocks);
      std::fill(blocks + count, blocks + channel_block, 0.0f);
    }
}

void from_blocks(const float* blocks, std::ptrdiff_t stride, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, float* plain) {
  for (std::ptrdiff_t first = 0; first < columns; first += channel_block)
    for (std::ptrdiff_t r = 0; r < rows; ++r, blocks += channel_block)
      copy_block(blocks, columns - first, plain + r * stride + first);
}

void pack_groups(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                 std::ptrdiff_t row_blocks, std::ptrdiff_t layer, const RnnGroups& groups,
                 std::ptrdiff_t first, std::ptrdiff_t last, float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(), most = rnn_gemm().width,
                       padded_rows = row_blocks * channel_block,
                       size = padded_rows * groups.columns();
  if (H % channel_block != 0 || rows < padded_rows) std::fill_n(to, (last - first) * size, 0.0f);
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const std::ptrdiff_t row = plan.padded_row(layer, r);
    for (std::ptrdiff_t g = 0; g < groups.gates; ++g) {
      const float* const from = weights + (r * G + groups.gate + g) * H;
      for (std::ptrdiff_t group = first; group < last; ++group)
        for (std::ptrdiff_t b = 0; b < groups.blocks_in(group); ++b) {
          const std::ptrdiff_t unit = (group * groups.together + b) * channel_block,
                               columns = groups.blocks_in(group) * groups.gates,
                               at = b * groups.gates + g, panel = at / most * most,
                               width = std::min(most, columns - panel);
          float* const own = to + (group - first) * size + panel * channel_block * padded_rows +
                             (row * width + at - panel) * channel_block;
          if (r + rows_ahead < rows) __builtin_prefetch(from + unit + rows_ahead * G * H);
          copy_block(from + unit, H - unit, own);
        }
    }
  }
}

void pack_transposed(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                     std::ptrdiff_t layer, const RnnGroups& groups, std::ptrdiff_t group,
                     float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(),
                       columns = groups.blocks_in(group) * channel_block;
  constexpr std::ptrdiff_t few = 8;  // rows, which may share one set of a cache
  std::fill_n(to, G * plan.units * columns, 0.0f);
  for (std::ptrdiff_t g = 0; g < G; ++g)
    for (std::ptrdiff_t first = 0; first < H; first += channel_block)
      for (std::ptrdiff_t part = 0; part < columns; part += few)
        for (std::ptrdiff_t at = part; at < part + few; ++at) {
          const std::ptrdiff_t r = plan.plain_row(layer, group * groups.columns() + at, rows);
          if (r < 0) continue;
          for (std::ptrdiff_t j = first; j < std::min(H, first + channel_block); ++j)
            to[(g * plan.units + j) * columns + at] = weights[(r * G + g) * H + j];
        }
}

}  // namespace assay::native
