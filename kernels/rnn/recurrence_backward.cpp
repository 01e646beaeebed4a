// Backpropagation through time.

#include <algorithm>

#include "core/base/place.hpp"
#include "kernels/rnn/gemm.hpp"
#include "kernels/rnn/recurrence.hpp"

namespace assay::recurrent {
void Recurrence::add_transposed(const Field& a, std::int64_t from, std::int64_t stride,
                                std::int64_t at, std::int64_t first, std::int64_t gates,
                                Field& to) {
  const std::int64_t H = shape_.hidden;
  const Parameters::Matrix& weights = parameters_.iter[place(at)];
  weights.numbers.multiply({count_, first * H, gates * H, true, a.value.data() + from, stride,
                            to.value.data(), H, true});
#pragma omp parallel for if (count_ * gates * H > worth_threads)
  for (std::int64_t r = 0; r < count_; ++r) {
    const double variance = weights.mean_square * noise(a, from + r * stride, gates * H);
    for (std::int64_t j = 0; j < H; ++j) to.variance[place(r * H + j)] += variance;
  }
}

void Recurrence::backward(bool wants_input) {
  Field& above = diff_between_;
  read_sequence("diff_dst_layer", shape_.directions * shape_.hidden, above);
  for (std::int64_t l = shape_.layers - 1; l >= 0; --l) {
    for (std::int64_t d = 0; d < shape_.directions; ++d) backward(l, d, above);
    if (l == 0 && !wants_input) return;
    Field below;
    below.clear(shape_.steps * count_ * problem_.count_inputs(l));
    for (std::int64_t d = 0; d < shape_.directions; ++d) add_diff_inputs(walk(l, d), l, d, below);
    above = std::move(below);
  }
}

void Recurrence::add_diff_inputs(const Walk& walk, std::int64_t layer, std::int64_t direction,
                                 Field& below) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), T = shape_.steps, R = count_,
                     I = problem_.count_inputs(layer), width = G * H;
  if (problem_.find_place(layer) < 0) {  // x is added to the sum of every gate
#pragma omp parallel for if (T * R * H > worth_threads)
    for (std::int64_t k = 0; k < T; ++k)
      for (std::int64_t i = 0; i < R * H; ++i) {
        const std::int64_t to = time(k, direction) * R * H + i;
        UncertainNumber sum = below[to];
        for (std::int64_t g = 0; g < G; ++g)
          sum = sum + walk.diff()[((k * R + i / H) * G + g) * H + i % H];
        below.set(to, sum);
      }
    return;
  }
  const Parameters::Matrix& weights =
      parameters_.layer[place(layer * shape_.directions + direction)];
  Numbers in_time;  // of the second direction
  const double* diff = walk.diff().value.data();
  if (direction > 0) {
    in_time.resize(walk.diff().value.size());
#pragma omp parallel for if (T * R * width > worth_threads)
    for (std::int64_t k = 0; k < T; ++k)
      std::copy_n(diff + k * R * width, R * width, in_time.data() + time(k, direction) * R * width);
    diff = in_time.data();
  }
  weights.numbers.multiply({T * R, 0, width, true, diff, width, below.value.data(), I, true});
#pragma omp parallel for if (T * R * width > worth_threads)
  for (std::int64_t k = 0; k < T; ++k)
    for (std::int64_t r = 0; r < R; ++r) {
      const double variance = weights.mean_square * noise(walk.diff(), (k * R + r) * width, width);
      const std::int64_t row = time(k, direction) * R + r;
      for (std::int64_t i = 0; i < I; ++i) below.variance[place(row * I + i)] += variance;
    }
}

void Recurrence::backward(std::int64_t layer, std::int64_t direction, const Field& above) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), T = shape_.steps, R = count_,
                     D = shape_.directions, at = layer * D + direction;
  Walk& walk = this->walk(layer, direction);
  diff_h_ = state("diff_dst_iter", layer, direction);
  if (problem_.has_cell_state()) diff_c_ = state("diff_dst_iter_c", layer, direction);
  for (std::int64_t k = T - 1; k >= 0; --k) {
#pragma omp parallel for if (R * H > worth_threads / 4)
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t j = 0; j < H; ++j)
        diff_h_.set(r * H + j,
                    round_stored(diff_h_[r * H + j] +
                                     above[((time(k, direction) * R + r) * D + direction) * H + j],
                                 u_others_));
    arriving_.clear(R * H);
    backward_step(walk, k);
    const std::int64_t from = k * R * G * H, stride = G * H;
    switch (shape_.cell) {
      case RnnCell::gru:
        finish_gru_backward(walk, at, k);
        add_transposed(walk.diff(), from, stride, at, 0, 2, arriving_);
        break;
      case RnnCell::gru_lbr:
        add_transposed(walk.diff(), from, stride, at, 0, 2, arriving_);
        add_transposed(walk.diff_aside(), k * R * H, H, at, 2, 1, arriving_);
        break;
      default:
        add_transposed(walk.diff(), from, stride, at, 0, G, arriving_);
    }
    std::swap(diff_h_, arriving_);
  }
  walk.diff_h = diff_h_;
  walk.diff_c = diff_c_;
}

void Recurrence::backward_step(Walk& walk, std::int64_t k) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), R = count_;
#pragma omp parallel for collapse(2) if (R * H > worth_threads_of_cells)
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t j = 0; j < H; ++j) {
      const std::int64_t i = r * H + j, before = k * R * H + i, after = before + R * H,
                         first = ((k * R + r) * G) * H + j;
      const auto gate = [&](std::int64_t g) { return walk.gates[first + g * H]; };
      const auto keep = [&](std::int64_t g, const UncertainNumber& value) {
        walk.gates.set(first + g * H, round_stored(value, u_operands_));
      };
      const UncertainNumber dh = diff_h_[i];
      switch (shape_.cell) {
        case RnnCell::vanilla_relu:
          keep(0, dh * slope_of_rectified(gate(0)));
          break;
        case RnnCell::vanilla_tanh:
          keep(0, dh * slope_of_tanh(gate(0)));
          break;
        case RnnCell::lstm: {
          const UncertainNumber in = gate(0), forget = gate(1), fresh = gate(2), out = gate(3),
                                bent = hyperbolic(walk.c[after]),
                                dc = diff_c_[i] + dh * out * slope_of_tanh(bent);
          keep(0, dc * fresh * slope_of_logistic(in));
          keep(1, dc * walk.c[before] * slope_of_logistic(forget));
          keep(2, dc * in * slope_of_tanh(fresh));
          keep(3, dh * bent * slope_of_logistic(out));
          diff_c_.set(i, round_stored(dc * forget, u_others_));
          break;
        }
        case RnnCell::gru:
        case RnnCell::gru_lbr: {
          const UncertainNumber update = gate(0), reset = gate(1), fresh = gate(2),
                                dz = dh * (1.0 - update) * slope_of_tanh(fresh);
          keep(0, dh * (walk.h[before] - fresh) * slope_of_logistic(update));
          keep(2, dz);
          arriving_.set(i, dh * update);
          if (shape_.cell == RnnCell::gru) break;
          keep(1, dz * walk.aside[before] * slope_of_logistic(reset));
          walk.aside.set(before, round_stored(dz * reset, u_operands_));
          break;
        }
      }
    }
}

/// The gradients through U_o (r*h): those of the reset gate and of h.
void Recurrence::finish_gru_backward(Walk& walk, std::int64_t at, std::int64_t k) {
  const std::int64_t H = shape_.hidden, R = count_;
  product_.clear(R * H);  // gradient of r*h
  add_transposed(walk.diff(), k * R * 3 * H + 2 * H, 3 * H, at, 2, 1, product_);
#pragma omp parallel for if (R * H > worth_threads_of_cells)
  for (std::int64_t i = 0; i < R * H; ++i) {
    const std::int64_t gate = ((k * R + i / H) * 3 + 1) * H + i % H;
    const UncertainNumber reset = walk.gates[gate];
    walk.gates.set(
        gate,
        round_stored(product_[i] * walk.h[k * R * H + i] * slope_of_logistic(reset), u_operands_));
    arriving_.set(i, arriving_[i] + product_[i] * reset);
  }
}

}  // namespace assay::recurrent
