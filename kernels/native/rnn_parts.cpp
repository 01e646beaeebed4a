#include "kernels/native/rnn_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::native {

namespace {

/// Floats of packed weights that a thread reads repeatedly: half of a second-level cache.
constexpr std::ptrdiff_t cached_floats = 1 << 18;
/// Packing prefetches this many rows ahead. Rows are in different pages, and processors do not
/// prefetch across pages.
constexpr std::ptrdiff_t rows_ahead = 16;

constexpr std::ptrdiff_t line_bytes = 64;

/// Copies at most a line; a whole line with instructions of a fixed size.
template <class T>
void copy_line(const T* from, std::ptrdiff_t count, T* to) {
  if (count >= line_bytes / static_cast<std::ptrdiff_t>(sizeof(T)))
    std::memcpy(to, from, line_bytes);
  else
    std::copy_n(from, count, to);
}

template <class T>
void make_lines(const T* plain, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t columns,
                T* lines) {
  constexpr std::ptrdiff_t each = line_bytes / static_cast<std::ptrdiff_t>(sizeof(T));
  for (std::ptrdiff_t first = 0; first < columns; first += each)
    for (std::ptrdiff_t r = 0; r < rows; ++r, lines += each) {
      const std::ptrdiff_t count = std::min(each, columns - first);
      copy_line(plain + r * stride + first, count, lines);
      std::fill(lines + count, lines + each, T{});
    }
}

/// The place of a block of 16 columns in a packed group with so many rows of lines.
struct Column {
  std::ptrdiff_t panel;  ///< floats before it
  std::ptrdiff_t width, at;
  Column(std::ptrdiff_t most, const RnnGroups& groups, std::ptrdiff_t group, std::ptrdiff_t block,
         std::ptrdiff_t gate, std::ptrdiff_t rows) {
    const std::ptrdiff_t column = block * groups.gates + gate, first = column / most * most;
    panel = first * channel_block * rows;
    width = std::min(most, groups.blocks_in(group) * groups.gates - first);
    at = column - first;
  }
  /// The offset of a row of lines, in floats.
  std::ptrdiff_t operator()(std::ptrdiff_t row) const {
    return panel + (row * width + at) * channel_block;
  }
};

/// Packs 16 columns of bf16 numbers: of two rows if they form a pair, else of one row.
void pack_pair(const std::uint16_t* first, const std::uint16_t* second, std::ptrdiff_t count,
               std::uint16_t* to) {
  if (second != nullptr && count >= channel_block) {
    for (std::ptrdiff_t i = 0; i < channel_block; ++i) {
      to[2 * i] = first[i];
      to[2 * i + 1] = second[i];
    }
    return;
  }
  for (std::ptrdiff_t i = 0; i < std::min(channel_block, count); ++i) {
    to[2 * i] = first[i];
    if (second != nullptr) to[2 * i + 1] = second[i];
  }
}

}  // namespace

RnnPlan::RnnPlan(const RnnProblem& recurrent, int of_threads)
    : problem(recurrent),
      s(recurrent.shape()),
      threads(of_threads),
      pairs(recurrent.precision() == Precision::bf16 && is_forward(recurrent.direction()) &&
            rnn_pairs() != nullptr),
      per_line(pairs ? 2 * channel_block : channel_block),
      width(rnn_gemm().width),
      unit_blocks(count_blocks(s.hidden, channel_block)),
      units(unit_blocks * channel_block),
      unit_lines(count_blocks(s.hidden, per_line)),
      state(units * s.batch),
      operand(unit_lines * channel_block * s.batch),
      gates(s.gates() * state),
      batch_blocks(count_blocks(s.batch, channel_block)),
      kept(recurrent.direction() == RnnDirection::forward_inference
               ? std::min<std::ptrdiff_t>(s.steps, count_blocks(rows_at_once, s.batch))
               : s.steps) {
  const auto save = [this](std::ptrdiff_t floats) { return std::exchange(saved, saved + floats); };
  const auto take = [this](std::ptrdiff_t floats) {
    return std::exchange(scratch, scratch + pad(floats, channel_block));
  };
  const bool backward = !is_forward(recurrent.direction());
  const std::ptrdiff_t line = s.batch * channel_block;
  std::ptrdiff_t widest = s.directions * unit_blocks;
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    widest = std::max(widest, input_blocks(l));
    between.push_back(save((l == 0 ? kept : s.steps) * input_blocks(l) * line));
  }
  for (std::ptrdiff_t i = 0; i < s.layers * s.directions; ++i) {
    RnnWalk walk{i / s.directions, i % s.directions};
    walk.h = save((kept + 1) * state);
    if (recurrent.has_cell_state()) walk.c = save((kept + 1) * state);
    walk.gates = save(kept * gates);
    if (s.gates() == 3) walk.aside = save(kept * state);
    if (pairs) walk.pairs = save(3 * operand);
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
  place_weights();
  bias = take(s.layers * s.directions * s.biases() * units);
  product = take(state);
  arriving = take(state);
  // A panel of gradients shares the second-level cache with the operands that are streamed through
  // it.
  const std::ptrdiff_t columns = width * channel_block, rows = batch_blocks * channel_block;
  if (backward) {
    reduced_steps = std::clamp<std::ptrdiff_t>(cached_floats / 2 / (columns * rows), 1, s.steps);
    operands = take(widest * channel_block * reduced_steps * rows);
  }
  own = scratch;
  if (backward) own_each = (reduced_steps * rows + blocks_of_rows * channel_block) * columns;
}

void RnnPlan::place_weights() {
  const bool backward = !is_forward(problem.direction());
  const auto place = [this](std::ptrdiff_t floats) {
    return std::exchange(packed, packed + pad(floats, channel_block));
  };
  for (RnnWalk& walk : walks) {
    std::ptrdiff_t recurrent = last_recurrent();
    if (first_gates() < s.gates()) recurrent += groups(2, 1).floats(unit_rows());
    if (backward) recurrent = std::max(recurrent, transpose(unit_blocks).floats(s.gates() * units));
    walk.recurrent = place(recurrent);
    if (problem.find_place(walk.layer) < 0) continue;
    const std::ptrdiff_t blocks = input_blocks(walk.layer);
    std::ptrdiff_t inputs = groups(0, s.gates()).floats(blocks * channel_block);
    if (backward) inputs = std::max(inputs, transpose(blocks).floats(s.gates() * units));
    walk.inputs = place(inputs);
  }
}

std::ptrdiff_t RnnPlan::together(std::ptrdiff_t blocks) const {
  std::ptrdiff_t best = 1, least = count_blocks(blocks, threads);
  for (std::ptrdiff_t each = 2; each <= width; ++each) {
    const std::ptrdiff_t most = count_blocks(count_blocks(blocks, each), threads) * each;
    if (most > least + least / 16) continue;
    best = each;
  }
  return best;
}

std::ptrdiff_t RnnPlan::at_once(std::ptrdiff_t layer) const {
  const RnnGroups all = groups(0, s.gates());
  const std::ptrdiff_t each = all.columns() * input_blocks(layer) * channel_block;
  return std::clamp(cached_floats / each, std::ptrdiff_t{1}, count_blocks(all.count(), threads));
}

void to_blocks(const float* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* blocks) {
  make_lines(plain, stride, rows, columns, blocks);
}

void to_lines(const std::uint16_t* plain, std::ptrdiff_t stride, std::ptrdiff_t rows,
              std::ptrdiff_t columns, std::uint16_t* lines) {
  make_lines(plain, stride, rows, columns, lines);
}

void from_blocks(const float* blocks, std::ptrdiff_t stride, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, float* plain) {
  for (std::ptrdiff_t first = 0; first < columns; first += channel_block)
    for (std::ptrdiff_t r = 0; r < rows; ++r, blocks += channel_block)
      copy_line(blocks, columns - first, plain + r * stride + first);
}

void pack_groups(const RnnPlan& plan, const float* weights, std::ptrdiff_t weight,
                 std::ptrdiff_t rows, std::ptrdiff_t row_blocks, std::ptrdiff_t layer,
                 const RnnGroups& groups, std::ptrdiff_t first, std::ptrdiff_t last, float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(),
                       line_rows = row_blocks * channel_block, size = line_rows * groups.columns();
  if (H % channel_block != 0 || rows < row_blocks * plan.per_line ||
      (layer > 0 && H % plan.per_line != 0))
    std::fill_n(to, (last - first) * size, 0.0f);
  struct Target {
    std::ptrdiff_t weight, count;  ///< of the first row: elements before it, and columns
    Column column;
    float* group;
  };
  std::vector<Target> targets;
  for (std::ptrdiff_t g = 0; g < groups.gates; ++g)
    for (std::ptrdiff_t group = first; group < last; ++group)
      for (std::ptrdiff_t b = 0; b < groups.blocks_in(group); ++b) {
        const std::ptrdiff_t unit = (group * groups.together + b) * channel_block;
        targets.push_back({weight + (groups.gate + g) * H + unit, H - unit,
                           Column(plan.width, groups, group, b, g, line_rows),
                           to + (group - first) * size});
      }
  for (std::ptrdiff_t r = 0; r < rows;) {
    const std::ptrdiff_t row = plan.pad_row(layer, r),
                         taken = plan.pairs && row % 2 == 0 && r + 1 < rows &&
                                         plan.pad_row(layer, r + 1) == row + 1
                                     ? 2
                                     : 1,
                         from = r * G * H, ahead = r + rows_ahead < rows ? rows_ahead * G * H : 0;
    for (const Target& target : targets) {
      if (!plan.pairs) {
        const float* const source = weights + from + target.weight;
        __builtin_prefetch(source + ahead);
        copy_line(source, target.count, target.group + target.column(row));
        continue;
      }
      const std::uint16_t* const source = bf16_at(weights, from + target.weight);
      __builtin_prefetch(source + ahead);
      __builtin_prefetch(source + ahead + (taken - 1) * G * H);
      pack_pair(source, taken == 2 ? source + G * H : nullptr, target.count,
                bf16_at(target.group + target.column(row / 2), row % 2));
    }
    r += taken;
  }
}

void pack_transposed(const RnnPlan& plan, const float* weights, std::ptrdiff_t rows,
                     std::ptrdiff_t layer, const RnnGroups& groups, std::ptrdiff_t group,
                     float* to) {
  const std::ptrdiff_t H = plan.s.hidden, G = plan.s.gates(),
                       columns = groups.blocks_in(group) * channel_block;
  constexpr std::ptrdiff_t few = 8;  // few rows, because they may map to one set of a cache
  bool is_padded = H < plan.units;
  for (std::ptrdiff_t at = 0; at < columns; ++at)
    is_padded |= plan.plain_row(layer, group * groups.columns() + at, rows) < 0;
  if (is_padded) std::fill_n(to, G * plan.units * columns, 0.0f);
  for (std::ptrdiff_t g = 0; g < G; ++g)
    for (std::ptrdiff_t first = 0; first < H; first += channel_block)
      for (std::ptrdiff_t part = 0; part < columns; part += few)
        for (std::ptrdiff_t at = part; at < part + few; ++at) {
          const std::ptrdiff_t r = plan.plain_row(layer, group * groups.columns() + at, rows);
          if (r < 0) continue;
          // Each row is a separate stream, and a processor cannot track so many.
          const float* const row = weights + (r * G + g) * H;
          __builtin_prefetch(row + first + channel_block);
          for (std::ptrdiff_t j = first; j < std::min(H, first + channel_block); ++j)
            to[(g * plan.units + j) * columns + at] = row[j];
        }
}

}  // namespace assay::native
