// Forward: one product with the inputs of all steps, one recurrent product a step, whose blocks of
// units go through the cell's functions while they are in the cache.

#include <omp.h>

#include <algorithm>

#include "kernels/native/rnn_network.hpp"

namespace assay::native {

RnnNetwork::RnnNetwork(const RnnProblem& problem, int threads)
    : plan_(problem), threads_(threads), gemm_(gemm_table()), cells_(rnn_table()) {
  std::ptrdiff_t longest = plan_.s.gates() * plan_.unit_blocks;
  for (std::ptrdiff_t l = 0; l < plan_.s.layers; ++l)
    longest = std::max(longest, plan_.input_blocks(l));
  segments_ = segments_of(plan_, longest);
  const std::ptrdiff_t rows = plan_.s.batch * plan_.panel;
  for (std::ptrdiff_t k = 0; k < plan_.repacked_steps; ++k)
    by_state_.push_back({k * plan_.state, k * rows, plan_.s.batch});
  for (const RnnWalk& walk : plan_.walks) {
    const std::ptrdiff_t step = (walk.direction == 0 ? 1 : -1) * plan_.input_blocks(walk.layer) *
                                plan_.s.batch * channel_block;
    by_input_.emplace_back();
    for (std::ptrdiff_t k = 0; k < plan_.repacked_steps; ++k)
      by_input_.back().push_back({k * step, k * rows, plan_.s.batch});
  }
}

void RnnNetwork::bind(std::map<std::string, float*, std::less<>> tensors, float* saved,
                      float* scratch) {
  tensors_ = std::move(tensors);
  saved_ = saved;
  scratch_ = scratch;
}

const float* RnnNetwork::input_weights(const RnnWalk& walk) const {
  const std::ptrdiff_t at = plan_.problem.place_of(walk.layer);
  if (at < 0) return nullptr;
  return tensor("weights_layer") + (at * plan_.s.directions + walk.direction) *
                                       plan_.problem.inputs_of(walk.layer) * plan_.s.gates() *
                                       plan_.s.hidden;
}

const float* RnnNetwork::recurrent_weights(const RnnWalk& walk) const {
  return tensor("weights_iter") + index(walk) * plan_.s.hidden * plan_.s.gates() * plan_.s.hidden;
}

/// A plain [T][N][parts * columns] into blocks, in which each part begins a block.
void RnnNetwork::read_sequence(const char* name, std::ptrdiff_t columns, std::ptrdiff_t parts,
                               float* to) {
  const std::ptrdiff_t N = plan_.s.batch,
                       size = blocks_of(columns, channel_block) * channel_block * N;
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
                       size = blocks_of(columns, channel_block) * channel_block * N;
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
  read_sequence("src_layer", plan_.problem.inputs_of(0), 1, saved_ + plan_.between[0]);
  read_state("src_iter", &RnnWalk::h);
  if (plan_.problem.has_cell_state()) read_state("src_iter_c", &RnnWalk::c);
  float* const bias = scratch_ + plan_.bias;
  for (std::ptrdiff_t i = 0; i < s.layers * s.directions * s.biases(); ++i)
    to_blocks(tensor("bias") + i * s.hidden, s.hidden, 1, s.hidden, bias + i * plan_.units);
  for (const RnnWalk& walk : plan_.walks) forward(walk);
  write_sequence(saved_ + plan_.between.back(), s.hidden, s.directions, "dst_layer");
  const std::ptrdiff_t last = (s.steps - 1) % plan_.kept + 1;
  write_state("dst_iter", &RnnWalk::h, last);
  write_state("dst_iter_c", &RnnWalk::c, last);
}

void RnnNetwork::forward(const RnnWalk& walk) {
  const RnnShape& s = plan_.s;
#pragma omp parallel num_threads(threads_)
  {
    if (const float* const weights = input_weights(walk))
      pack_weights(plan_, weights, plan_.problem.inputs_of(walk.layer),
                   plan_.input_blocks(walk.layer), walk.layer, scratch_ + plan_.weights);
    pack_weights(plan_, recurrent_weights(walk), s.hidden, plan_.unit_blocks, 0,
                 scratch_ + plan_.recurrent);
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
      add_inputs(walk, first, count);
      for (std::ptrdiff_t k = 0; k < count; ++k) forward_step(walk, first + k, k);
    }
  }
}

/// The part of all gates' sums that comes from the inputs of steps [first, first + count).
void RnnNetwork::add_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, blocks = plan_.input_blocks(walk.layer),
                       P = plan_.panels(plan_.unit_blocks);
  const float* const x = saved_ + plan_.between[static_cast<std::size_t>(walk.layer)];
  const bool skips = plan_.problem.place_of(walk.layer) < 0;
#pragma omp for collapse(2) schedule(static)
  for (std::ptrdiff_t g = 0; g < s.gates(); ++g)
    for (std::ptrdiff_t p = 0; p < P; ++p) {
      const std::ptrdiff_t block = p * plan_.panel / channel_block,
                           width = plan_.blocks_in(p, plan_.unit_blocks);
      for (std::ptrdiff_t k = 0; k < count; ++k) {
        const float* const from = x + plan_.time(walk, first + k) * blocks * line;
        float* const to = saved_ + walk.gates + k * plan_.gates + g * plan_.state + block * line;
        if (skips)
          std::copy_n(from + block * line, width * line, to);
        else
          multiply(gemm_, gemm_.pixels, channel_block, from,
                   scratch_ + plan_.weights + (g * P + p) * blocks * channel_block * plan_.panel,
                   segments_.data(), blocks, s.batch, width, {to, channel_block, line}, false);
      }
    }
}

RnnStep RnnNetwork::step_at(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held,
                            std::ptrdiff_t block) const {
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
  step.out = saved_ + plan_.between[static_cast<std::size_t>(walk.layer + 1)] +
             (plan_.time(walk, k) * s.directions + walk.direction) * plan_.state + at;
  step.count = s.batch * channel_block;
  return step;
}

void RnnNetwork::forward_step(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held) {
  const RnnShape& s = plan_.s;
  const std::ptrdiff_t line = s.batch * channel_block, P = plan_.panels(plan_.unit_blocks);
  const auto product = [&](const float* a, std::ptrdiff_t g, std::ptrdiff_t p, float* to,
                           bool add) {
    multiply(gemm_, gemm_.pixels, channel_block, a,
             scratch_ + plan_.recurrent + (g * P + p) * plan_.units * plan_.panel, segments_.data(),
             plan_.unit_blocks, s.batch, plan_.blocks_in(p, plan_.unit_blocks),
             {to, channel_block, line}, add);
  };
  const float* const h = saved_ + walk.h + held * plan_.state;
#pragma omp for schedule(static)
  for (std::ptrdiff_t p = 0; p < P; ++p) {
    const std::ptrdiff_t block = p * plan_.panel / channel_block;
    const RnnStep first = step_at(walk, k, held, block);
    for (std::ptrdiff_t g = 0; g < (s.gates() == 3 ? 2 : s.gates()); ++g)
      product(h, g, p, first.gates[g], true);
    if (s.cell == RnnCell::gru_lbr) product(h, 2, p, first.aside, false);
    for (std::ptrdiff_t b = 0; b < plan_.blocks_in(p, plan_.unit_blocks); ++b)
      cells_.forward(s.cell, step_at(walk, k, held, block + b));
  }
  if (s.cell != RnnCell::gru) return;
#pragma omp for schedule(static)
  for (std::ptrdiff_t p = 0; p < P; ++p) {
    const std::ptrdiff_t block = p * plan_.panel / channel_block;
    product(saved_ + walk.aside + held * plan_.state, 2, p, step_at(walk, k, held, block).gates[2],
            true);
    for (std::ptrdiff_t b = 0; b < plan_.blocks_in(p, plan_.unit_blocks); ++b)
      cells_.finish(step_at(walk, k, held, block + b));
  }
}

}  // namespace assay::native
