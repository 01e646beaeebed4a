// Forward: one product with the inputs of all steps, and one recurrent product for each step. A
// block of units goes through the cell's functions while it is in the cache.

#include <omp.h>

#include <algorithm>

#include "kernels/native/rnn_network.hpp"

namespace assay::native {

RnnNetwork::RnnNetwork(const RnnProblem& problem, int threads)
    : plan_(problem, threads),
      threads_(threads),
      gemm_(gemm_table()),
      multiply_(plan_.pairs ? rnn_pairs()->multiply : rnn_gemm().multiply),
      cells_(rnn_table()) {}

void RnnNetwork::bind(std::map<std::string, float*, std::less<>> tensors, float* saved,
                      float* packed, float* scratch) {
  tensors_ = std::move(tensors);
  saved_ = saved;
  packed_ = packed;
  scratch_ = scratch;
}

std::ptrdiff_t RnnNetwork::input_weight(const RnnWalk& walk) const {
  const std::ptrdiff_t at = plan_.problem.find_place(walk.layer);
  if (at < 0) return -1;
  return (at * plan_.s.directions + walk.direction) * plan_.problem.count_inputs(walk.layer) *
         plan_.s.gates() * plan_.s.hidden;
}

std::ptrdiff_t RnnNetwork::recurrent_weight(const RnnWalk& walk) const {
  return index(walk) * plan_.s.hidden * plan_.s.gates() * plan_.s.hidden;
}

/// Copies a plain [T][N][parts * columns] into blocks; each part begins a new block.
void RnnNetwork::read_sequence(const char* name, std::ptrdiff_t columns, std::ptrdiff_t parts,
                               float* to) {
  const std::ptrdiff_t N = plan_.s.batch,
                       size = count_blocks(columns, channel_block) * channel_block * N;
  const float* const from = tensor(name);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::ptrdiff_t t = 0; t < plan_.s.steps; ++t)
    for (std::ptrdiff_t part = 0; part < parts; ++part)
      to_blocks(from + t * N * parts * columns + part * columns, parts * columns, N, columns,
                to + (t * parts + part) * size);
}

void RnnNetwork::write_sequence(const float* from, std::ptrdiff_t columns, std::ptrdiff_t parts,
                                const char* name) {
  float* const to = tensor(name);
  if (to == nullptr) return;
  const std::ptrdiff_t N = plan_.s.batch,
                       size = count_blocks(columns, channel_block) * channel_block * N;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::ptrdiff_t t = 0; t < plan_.s.steps; ++t)
    for (std::ptrdiff_t part = 0; part < parts; ++part)
      from_blocks(from + (t * parts + part) * size, parts * columns, N, columns,
                  to + t * N * parts * columns + part * columns);
}

void RnnNetwork::read_state(const std::string& name, std::ptrdiff_t RnnWalk::*to) {
  const std::ptrdiff_t N = plan_.s.batch, H = plan_.s.hidden;
  for (const RnnWalk& walk : plan_.walks)
    to_blocks(tensor(name) + index(walk) * N * H, H, N, H, saved_ + walk.*to);
}

void RnnNetwork::write_state(const std::string& name, std::ptrdiff_t RnnWalk::*from,
                             std::ptrdiff_t step) {
  float* const to = tensor(name);
  if (to == nullptr) return;
  const std::ptrdiff_t N = plan_.s.batch, H = plan_.s.hidden;
  for (const RnnWalk& walk : plan_.walks)
    from_blocks(saved_ + walk.*from + step * plan_.state, H, N, H, to + index(walk) * N * H);
}

void RnnNetwork::forward() {
  const RnnShape& s = plan_.s;
  read_state("src_iter", &RnnWalk::h);
  if (plan_.pairs) begin_pairs();
  if (plan_.problem.has_cell_state()) read_state("src_iter_c", &RnnWalk::c);
  float* const bias = scratch_ + plan_.bias;
  for (std::ptrdiff_t i = 0; i < s.layers * s.directions * s.biases(); ++i)
    to_blocks(tensor("bias") + i * s.hidden, s.hidden, 1, s.hidden, bias + i * plan_.units);
  for (const RnnWalk& walk : plan_.walks) forward(walk);
  const std::ptrdiff_t last = (s.steps - 1) % plan_.kept + 1;
  write_state("dst_iter", &RnnWalk::h, last);
  write_state("dst_iter_c", &RnnWalk::c, last);
}

void RnnNetwork::round_block(const float* from, float* operand, std::ptrdiff_t block) const {
  const std::ptrdiff_t N = plan_.s.batch, width = 2 * channel_block;
  gemm_.store(DataType::bf16, from, channel_block, N, channel_block,
              bf16_at(operand, block / 2 * N * width + block % 2 * channel_block), width);
}

/// Zeroes the padding of states that are operands of products.
void RnnNetwork::begin_pairs() {
  const RnnShape& s = plan_.s;
  for (std::ptrdiff_t l = 1; l < s.layers; ++l)
    std::fill_n(saved_ + plan_.between[static_cast<std::size_t>(l)],
                s.steps * s.directions * plan_.operand, 0.0f);
  for (const RnnWalk& walk : plan_.walks) {
    std::fill_n(saved_ + walk.pairs, 3 * plan_.operand, 0.0f);
    for (std::ptrdiff_t block = 0; block < plan_.unit_blocks; ++block)
      round_block(saved_ + walk.h + block * s.batch * channel_block, saved_ + walk.pairs, block);
  }
}

RnnNetwork::Share RnnNetwork::share(std::ptrdiff_t count) {
  const std::ptrdiff_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
  return {count * thread / threads, count * (thread + 1) / threads};
}

float* RnnNetwork::own() const {
  return scratch_ + plan_.own + omp_get_thread_num() * plan_.own_each;
}

void RnnNetwork::multiply_group(const RnnGroups& groups, std::ptrdiff_t group, RnnProduct product,
                                const GateArrays& to) const {
  const std::ptrdiff_t line = plan_.s.batch * channel_block,
                       columns = groups.blocks_in(group) * groups.gates;
  const float* const next = product.next;
  product.a_block = line;
  product.rows = plan_.s.batch;
  for (std::ptrdiff_t column = 0; column < columns; column += product.width) {
    product.width = static_cast<int>(std::min(plan_.width, columns - column));
    for (int v = 0; v < product.width; ++v)
      product.c[v] = to[static_cast<std::size_t>((column + v) % groups.gates)] +
                     (group * groups.together + (column + v) / groups.gates) * line;
    const float* const after = product.b + product.blocks * product.width * 256;
    if (!product.fetches_a) product.next = column + product.width < columns ? after : next;
    multiply_(product);
    product.b = after;
  }
}

void RnnNetwork::forward(const RnnWalk& walk) {
  const RnnShape& s = plan_.s;
#pragma omp parallel num_threads(threads_)
  {
    for (std::ptrdiff_t first = 0; first < s.steps; first += plan_.kept) {
      const std::ptrdiff_t count = std::min(plan_.kept, s.steps - first);
      if (first > 0) {
#pragma omp for schedule(static)
        for (std::ptrdiff_t i = 0; i < plan_.state; ++i) {
          saved_[walk.h + i] = saved_[walk.h + plan_.kept * plan_.state + i];
          if (plan_.problem.has_cell_state())
            saved_[walk.c + i] = saved_[walk.c + plan_.kept * plan_.state + i];
        }
      }
      // Both directions use the inputs of the whole sequence that the first direction has read.
      if (plan_.reads_parts(walk) || (walk.layer == 0 && walk.direction == 0))
        read_inputs(walk, first, count);
      if (plan_.problem.find_place(walk.layer) < 0)
        copy_inputs(walk, first, count);
      else
        add_inputs(walk, first, count);
      for (std::ptrdiff_t k = 0; k < count; ++k) forward_step(walk, first + k, k);
    }
  }
}

/// Copies the plain inputs of steps [first, first + count) of the first layer into blocks, in bf16
/// into lines.
void RnnNetwork::read_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count) {
  const std::ptrdiff_t N = plan_.s.batch, inputs = plan_.problem.count_inputs(0),
                       size = plan_.input_blocks(0) * N * channel_block;
  const float* const from = tensor("src_layer");
  float* const to = saved_ + plan_.between[0];
#pragma omp for schedule(static)
  for (std::ptrdiff_t k = first; k < first + count; ++k) {
    const std::ptrdiff_t at = plan_.time(walk, k) * N * inputs;
    float* const step = to + plan_.input_place(walk, k) * size;
    if (plan_.pairs)
      to_lines(bf16_at(from, at), inputs, N, inputs, bf16_at(step, 0));
    else
      to_blocks(from + at, inputs, N, inputs, step);
  }
}

/// The contribution of the inputs of steps [first, first + count) to the sums of all gates.
void RnnNetwork::add_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t blocks = plan_.input_blocks(walk.layer),
                       step = blocks * s.batch * channel_block;
  const float* const x = saved_ + plan_.between[static_cast<std::size_t>(walk.layer)];
  const RnnGroups groups = plan_.groups(0, s.gates());
  const std::ptrdiff_t size = groups.columns() * blocks * channel_block,
                       at_once = plan_.at_once(walk.layer);
  const Share mine = share(groups.count());
  for (std::ptrdiff_t part = mine.first; part < mine.last; part += at_once) {
    const std::ptrdiff_t last = std::min(part + at_once, mine.last);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      GateArrays to{};
      for (std::ptrdiff_t g = 0; g < s.gates(); ++g)
        to[static_cast<std::size_t>(g)] = saved_ + walk.gates + k * plan_.gates + g * plan_.state;
      RnnProduct product{};
      product.a = x + plan_.input_place(walk, first + k) * step;
      product.blocks = blocks;
      product.fetches_a = true;
      if (k + 1 < count) product.next = x + plan_.input_place(walk, first + k + 1) * step;
      for (std::ptrdiff_t group = part; group < last; ++group) {
        product.b = packed_ + walk.inputs + group * size;
        multiply_group(groups, group, product, to);
      }
    }
  }
#pragma omp barrier
}

/// The same if every gate adds x itself.
void RnnNetwork::copy_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count) {
  const float* const x = saved_ + plan_.between[static_cast<std::size_t>(walk.layer)];
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t width = 2 * channel_block, line = s.batch * channel_block;
#pragma omp for collapse(2) schedule(static)
  for (std::ptrdiff_t k = 0; k < count; ++k)
    for (std::ptrdiff_t g = 0; g < plan_.s.gates(); ++g) {
      const float* const from = x + plan_.input_place(walk, first + k) * plan_.operand;
      float* const to = saved_ + walk.gates + k * plan_.gates + g * plan_.state;
      if (!plan_.pairs) std::copy_n(from, plan_.state, to);
      for (std::ptrdiff_t block = 0; plan_.pairs && block < plan_.unit_blocks; ++block)
        gemm_.load(DataType::bf16,
                   bf16_at(from, block / 2 * s.batch * width + block % 2 * channel_block), width,
                   s.batch, channel_block, to + block * line, channel_block);
    }
}

RnnStep RnnNetwork::step_at(const RnnWalk& walk, std::ptrdiff_t held, std::ptrdiff_t block) const {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t at = block * s.batch * channel_block, now = held * plan_.state + at;
  RnnStep step{};
  for (std::ptrdiff_t g = 0; g < s.gates(); ++g)
    step.gates[g] = saved_ + walk.gates + held * plan_.gates + g * plan_.state + at;
  for (std::ptrdiff_t g = 0; g < s.biases(); ++g)
    step.bias[g] = scratch_ + plan_.bias + (index(walk) * s.biases() + g) * plan_.units +
                   block * channel_block;
  step.h = saved_ + walk.h + now;
  step.c = saved_ + walk.c + now;
  step.aside = saved_ + walk.aside + now;
  step.next_h = saved_ + walk.h + now + plan_.state;
  step.next_c = saved_ + walk.c + now + plan_.state;
  step.count = s.batch * channel_block;
  return step;
}

/// Stores the new state of a block for the layer's readers.
void RnnNetwork::publish(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held,
                         std::ptrdiff_t block) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, time = plan_.time(walk, k);
  const float* const h = saved_ + walk.h + (held + 1) * plan_.state + block * line;
  if (plan_.pairs) round_block(h, saved_ + walk.pairs + (k + 1) % 2 * plan_.operand, block);
  if (walk.layer + 1 < s.layers) {
    float* const to = saved_ + plan_.between[static_cast<std::size_t>(walk.layer + 1)] +
                      (time * s.directions + walk.direction) * plan_.operand;
    if (plan_.pairs)
      round_block(h, to, block);
    else
      std::copy_n(h, line, to + block * line);
  } else if (float* const to = tensor("dst_layer")) {
    const std::ptrdiff_t columns = s.directions * s.hidden, unit = block * channel_block,
                         count = std::min(channel_block, s.hidden - unit),
                         at = time * s.batch * columns + walk.direction * s.hidden + unit;
    if (plan_.pairs)
      gemm_.store(DataType::bf16, h, channel_block, s.batch, count, bf16_at(to, at), columns);
    else
      from_blocks(h, columns, s.batch, count, to + at);
  }
}

template <class Done>
void RnnNetwork::multiply_step(const RnnGroups& groups, const float* weights, const float* after,
                               const float* a, const GateArrays& to, const Done& done) const {
  const std::ptrdiff_t size = groups.columns() * plan_.unit_rows();
  const Share mine = share(groups.count());
  RnnProduct product{};
  product.a = a;
  product.blocks = plan_.unit_lines;
  product.add = true;
  for (std::ptrdiff_t group = mine.first; group < mine.last; ++group) {
    product.b = weights + group * size;
    product.next = group + 1 < mine.last ? product.b + size : after;
    multiply_group(groups, group, product, to);
    for (std::ptrdiff_t b = 0; b < groups.blocks_in(group); ++b) done(group * groups.together + b);
  }
#pragma omp barrier
}

void RnnNetwork::forward_step(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held) {
  const RnnShape& s = plan_.s;
  float *const pairs = saved_ + walk.pairs, *const rounded = pairs + 2 * plan_.operand;
  const float* const h =
      plan_.pairs ? pairs + k % 2 * plan_.operand : saved_ + walk.h + held * plan_.state;
  const RnnGroups all = plan_.groups(0, plan_.first_gates()), last = plan_.groups(2, 1);
  const float *const weights = packed_ + walk.recurrent, *const last_weights =
                                                             weights + plan_.last_recurrent();
  const float *const first_own =
                         weights + share(all.count()).first * all.columns() * plan_.unit_rows(),
                     *const last_own = last_weights + share(last.count()).first * last.columns() *
                                                          plan_.unit_rows();
  GateArrays to{};
  const RnnStep step = step_at(walk, held, 0);
  std::copy_n(step.gates, s.gates(), to.begin());
  const std::ptrdiff_t line = s.batch * channel_block;
  if (s.cell == RnnCell::gru_lbr) {
    to[2] = step.aside;
    const Share mine = share(all.count());
    std::fill(step.aside + mine.first * line, step.aside + mine.last * line, 0.0f);
  }
  const bool gru = s.cell == RnnCell::gru;
  multiply_step(all, weights, gru ? last_own : first_own, h, to, [&](std::ptrdiff_t block) {
    cells_.forward(s.cell, step_at(walk, held, block));
    if (!gru) publish(walk, k, held, block);
    if (gru && plan_.pairs) round_block(step.aside + block * line, rounded, block);
  });
  if (!gru) return;
  multiply_step(last, last_weights, first_own, plan_.pairs ? rounded : step.aside, {to[2]},
                [&](std::ptrdiff_t block) {
                  cells_.finish(step_at(walk, held, block));
                  publish(walk, k, held, block);
                });
}

}  // namespace assay::native
