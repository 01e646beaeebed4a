#include "kernels/rnn/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/place.hpp"
#include "kernels/rnn/gemm.hpp"

namespace assay::recurrent {
namespace {

/// Reverses the order of `blocks` blocks.
void reverse_blocks(std::span<double> values, std::int64_t blocks) {
  const std::int64_t size =
      static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(blocks, 1);
#pragma omp parallel for if (size * blocks > worth_threads)
  for (std::int64_t i = 0; i < blocks / 2; ++i)
    std::swap_ranges(values.begin() + i * size, values.begin() + (i + 1) * size,
                     values.begin() + (blocks - 1 - i) * size);
}

/// 0 if nothing is stored in 16 bits.
double find_stored_roundoff(Precision precision, bool stores) {
  const DataType type = storage(precision);
  return stores && size_of(type) == 2 ? unit_roundoff(type) : 0;
}

Parameters::Matrix matrix(const Values& values, std::int64_t first, std::int64_t rows,
                          std::int64_t columns, Prover* prover) {
  std::vector<float> numbers(place(rows * columns));
  double squares = 0;
#pragma omp parallel reduction(+ : squares) if (rows * columns > worth_threads)
  {
    std::vector<double> row(place(columns));
#pragma omp for
    for (std::int64_t i = 0; i < rows; ++i) {
      values.fill(first + i * columns, row);
      for (std::int64_t j = 0; j < columns; ++j) {
        squares += row[place(j)] * row[place(j)];
        numbers[place(i * columns + j)] = static_cast<float>(row[place(j)]);
      }
    }
  }
  return {Weights(rows, columns, std::move(numbers), prover),
          squares / static_cast<double>(rows * columns)};
}

}  // namespace

Parameters::Parameters(const RnnProblem& problem, const Inputs& inputs, Prover* prover) {
  const RnnShape& s = problem.shape();
  const std::int64_t columns = s.gates() * s.hidden;
  const Values &all_iter = inputs.find("weights_iter")->second,
               &all_bias = inputs.find("bias")->second;
  for (std::int64_t i = 0; i < s.layers * s.directions; ++i) {
    const std::int64_t l = i / s.directions, d = i % s.directions, read = problem.count_inputs(l);
    const std::int64_t at = problem.find_place(l) * s.directions + d;
    layer.push_back(at < 0 || problem.find_place(l) < 0
                        ? Matrix()
                        : matrix(inputs.find("weights_layer")->second, at * read * columns, read,
                                 columns, prover));
    iter.push_back(matrix(all_iter, i * s.hidden * columns, s.hidden, columns, prover));
    bias.emplace_back(place(s.biases() * s.hidden));
    all_bias.fill(i * s.biases() * s.hidden, bias.back());
  }
}

Recurrence::Recurrence(const RnnProblem& problem, const Parameters& parameters,
                       const Inputs& inputs, const Products& products,
                       std::vector<std::int64_t> rows)
    : problem_(problem),
      parameters_(parameters),
      inputs_(inputs),
      products_(products),
      shape_(problem.shape()),
      u_operands_(find_stored_roundoff(problem.precision(), products.stores_operands)),
      u_others_(find_stored_roundoff(problem.precision(), products.stores_others)),
      u_sums_(find_stored_roundoff(problem.precision(), products.stored_sums > 0)),
      walks_(place(shape_.layers * shape_.directions)),
      between_(place(shape_.layers + 1)) {
  select(std::move(rows));
}

void Recurrence::select(std::vector<std::int64_t> rows) {
  rows_ = std::move(rows);
  count_ = static_cast<std::int64_t>(rows_.size());
}

Field Recurrence::state(const char* name, std::int64_t layer, std::int64_t direction) const {
  Field out;
  out.clear(count_ * shape_.hidden);
  const Values& values = inputs_.find(name)->second;
  for (std::int64_t r = 0; r < count_; ++r)
    values.fill(
        ((layer * shape_.directions + direction) * shape_.batch + rows_[place(r)]) * shape_.hidden,
        std::span(out.value).subspan(place(r * shape_.hidden), place(shape_.hidden)));
  return out;
}

void Recurrence::read_sequence(const char* name, std::int64_t width, Field& to) const {
  to.resize(shape_.steps * count_ * width);
  const Values& values = inputs_.find(name)->second;
#pragma omp parallel for if (shape_.steps * count_ * width > worth_threads)
  for (std::int64_t t = 0; t < shape_.steps; ++t)
    for (std::int64_t r = 0; r < count_; ++r) {
      const std::int64_t at = (t * count_ + r) * width;
      values.fill((t * shape_.batch + rows_[place(r)]) * width,
                  std::span(to.value).subspan(place(at), place(width)));
      std::fill_n(to.variance.begin() + at, width, 0.0);
    }
}

double Recurrence::noise(const Field& a, std::int64_t first, std::int64_t count) const {
  const double rounding = products_.variance(static_cast<double>(count + shape_.hidden));
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = first; i < first + count; ++i)
    sum += a.variance[place(i)] + rounding * a.value[place(i)] * a.value[place(i)];
  return sum;
}

void Recurrence::add_recurrent(const Field& a, std::int64_t from, std::int64_t at,
                               std::int64_t first, std::int64_t gates, Field& to,
                               std::int64_t stride) {
  const std::int64_t H = shape_.hidden, all = shape_.gates() * H;
  const Parameters::Matrix& weights = parameters_.iter[place(at)];
  const std::int64_t begin = stride == all ? first * H : 0;
  weights.numbers.multiply({count_, first * H, gates * H, false, a.value.data() + from, H,
                            to.value.data() + begin, stride, true});
#pragma omp parallel for if (count_ * gates * H > worth_threads)
  for (std::int64_t r = 0; r < count_; ++r) {
    const double variance = weights.mean_square * noise(a, from + r * H, H);
    for (std::int64_t j = 0; j < gates * H; ++j)
      to.variance[place(r * stride + begin + j)] += variance;
  }
}

void Recurrence::forward(bool wants_output) {
  read_sequence("src_layer", problem_.count_inputs(0), between_[0]);
  for (std::int64_t l = 0; l < shape_.layers; ++l) {
    const bool is_read = wants_output || l + 1 < shape_.layers;
    between_[place(l + 1)].resize(
        is_read ? shape_.steps * count_ * shape_.directions * shape_.hidden : 0);
    for (std::int64_t d = 0; d < shape_.directions; ++d) forward(l, d);
  }
}

/// The contribution of the layer's inputs to the sums, for all steps at once.
void Recurrence::add_inputs(Walk& walk, std::int64_t layer, std::int64_t direction) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), T = shape_.steps, R = count_,
                     I = problem_.count_inputs(layer);
  const Field& x = between_[place(layer)];
  input_noise_.assign(place(T * R), 0);
  if (problem_.find_place(layer) >= 0) {
    const Parameters::Matrix& weights =
        parameters_.layer[place(layer * shape_.directions + direction)];
    weights.numbers.multiply(
        {T * R, 0, G * H, false, x.value.data(), I, walk.gates.value.data(), G * H, false});
#pragma omp parallel for if (T * R * I > worth_threads)
    for (std::int64_t i = 0; i < T * R; ++i)
      input_noise_[place(i)] = weights.mean_square * noise(x, i * I, I);
  } else {
#pragma omp parallel for if (T * R * I > worth_threads)
    for (std::int64_t i = 0; i < T * R; ++i)
      for (std::int64_t g = 0; g < G; ++g)
        std::copy_n(x.value.begin() + i * H, H, walk.gates.value.begin() + (i * G + g) * H);
  }
  if (direction == 0) return;
  reverse_blocks(walk.gates.value, T);
  reverse_blocks(input_noise_, T);
}

void Recurrence::forward(std::int64_t layer, std::int64_t direction) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), T = shape_.steps, R = count_,
                     D = shape_.directions;
  Walk& walk = this->walk(layer, direction);
  const bool lstm = problem_.has_cell_state();
  walk.gates.resize(T * R * G * H);
  walk.h.resize((T + 1) * R * H);
  if (lstm) walk.c.resize((T + 1) * R * H);
  if (G == 3) walk.aside.resize(T * R * H);
  const auto begin = [&](Field& field, const Field& first) {
    std::copy(first.value.begin(), first.value.end(), field.value.begin());
    std::fill_n(field.variance.begin(), first.value.size(), 0.0);
  };
  begin(walk.h, state("src_iter", layer, direction));
  if (lstm) begin(walk.c, state("src_iter_c", layer, direction));
  add_inputs(walk, layer, direction);
  Field& out = between_[place(layer + 1)];
  for (std::int64_t k = 0; k < T; ++k) {
    forward_step(walk, layer * D + direction, k);
    if (out.value.empty()) continue;
#pragma omp parallel for if (R * H > worth_threads / 4)
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t j = 0; j < H; ++j)
        out.set(((time(k, direction) * R + r) * D + direction) * H + j,
                walk.h[((k + 1) * R + r) * H + j]);
  }
}

void Recurrence::sum_products(Walk& walk, std::int64_t at, std::int64_t k) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), R = count_, from = k * R * H;
  const RnnCell cell = shape_.cell;
  const std::vector<double>& bias = parameters_.bias[place(at)];
  sums_.value.resize(place(R * G * H));
  sums_.variance.resize(place(R * G * H));
#pragma omp parallel for if (R * H > worth_threads / 4)
  for (std::int64_t r = 0; r < R; ++r) {
    std::copy_n(walk.gates.value.begin() + (k * R + r) * G * H, G * H,
                sums_.value.begin() + r * G * H);
    std::fill_n(sums_.variance.begin() + r * G * H, G * H, input_noise_[place(k * R + r)]);
  }
  add_recurrent(walk.h, from, at, 0, G == 3 ? 2 : G, sums_, G * H);
  if (cell == RnnCell::gru_lbr) {
    product_.clear(R * H);
    add_recurrent(walk.h, from, at, 2, 1, product_, H);
  }
  if (u_sums_ > 0) store_sums(walk, at, k);
  if (cell == RnnCell::gru_lbr) {
#pragma omp parallel for collapse(2) if (R * H > worth_threads / 4)
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t j = 0; j < H; ++j)
        walk.aside.set(from + r * H + j, product_[r * H + j] + exact(bias[place(3 * H + j)]));
  }
}

void Recurrence::store_sums(const Walk& walk, std::int64_t at, std::int64_t k) {
  const std::int64_t H = shape_.hidden, G = shape_.gates(), R = count_,
                     layer = at / shape_.directions;
  // A skipped input is exact in 16 bits. The product with the state may be added to the first
  // product before it is stored; so the larger of the two possible values counts as rounded.
  const bool multiplied = problem_.find_place(layer) >= 0, of_states = products_.stored_sums > 1;
#pragma omp parallel for if (R * H > worth_threads_of_cells)
  for (std::int64_t i = 0; i < R * G * H; ++i) {
    const double sum = sums_.value[place(i)], of_input = walk.gates.value[place(k * R * G * H + i)];
    sums_.variance[place(i)] +=
        (multiplied ? variance_of_storing(u_sums_, of_input) : 0) +
        (sum == of_input || !of_states
             ? 0
             : variance_of_storing(u_sums_, std::max(std::abs(sum), std::abs(sum - of_input))));
  }
  if (shape_.cell != RnnCell::gru_lbr || !of_states) return;
#pragma omp parallel for if (R * H > worth_threads_of_cells)
  for (std::int64_t i = 0; i < R * H; ++i)
    product_.variance[place(i)] += variance_of_storing(u_sums_, product_.value[place(i)]);
}

void Recurrence::forward_step(Walk& walk, std::int64_t at, std::int64_t k) {
  sum_products(walk, at, k);
  const std::int64_t H = shape_.hidden, G = shape_.gates(), R = count_, from = k * R * H,
                     next = from + R * H;
  const RnnCell cell = shape_.cell;
  const std::vector<double>& bias = parameters_.bias[place(at)];
#pragma omp parallel for collapse(2) if (R * H > worth_threads_of_cells)
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t j = 0; j < H; ++j) {
      const std::int64_t i = r * H + j;
      const auto sum = [&](std::int64_t g) {
        return sums_[(r * G + g) * H + j] + exact(bias[place(g * H + j)]);
      };
      const auto keep = [&](std::int64_t g, const UncertainNumber& value) {
        walk.gates.set(((k * R + r) * G + g) * H + j, round_stored(value, u_others_));
      };
      const auto becomes = [&](const UncertainNumber& h) {
        walk.h.set(next + i, round_stored(h, u_operands_));
      };
      switch (cell) {
        case RnnCell::vanilla_relu: {  // keeps the sum, because its sign may be uncertain
          walk.gates.set(((k * R + r) * G) * H + j, sum(0));
          becomes(rectify(sum(0)));
          break;
        }
        case RnnCell::vanilla_tanh: {
          const UncertainNumber h = hyperbolic(sum(0));
          keep(0, h);
          becomes(h);
          break;
        }
        case RnnCell::lstm: {
          const UncertainNumber in = logistic(sum(0)), forget = logistic(sum(1)),
                                fresh = hyperbolic(sum(2)), out = logistic(sum(3)),
                                c = forget * walk.c[from + i] + in * fresh;
          keep(0, in), keep(1, forget), keep(2, fresh), keep(3, out);
          walk.c.set(next + i, round_stored(c, u_others_));
          becomes(out * hyperbolic(c));
          break;
        }
        case RnnCell::gru: {
          const UncertainNumber update = logistic(sum(0)), reset = logistic(sum(1));
          keep(0, update), keep(1, reset);
          walk.aside.set(from + i, round_stored(reset * walk.h[from + i], u_operands_));
          break;
        }
        case RnnCell::gru_lbr: {
          const UncertainNumber update = logistic(sum(0)), reset = logistic(sum(1)),
                                fresh = hyperbolic(sum(2) + reset * walk.aside[from + i]);
          keep(0, update), keep(1, reset), keep(2, fresh);
          becomes(fresh + update * (walk.h[from + i] - fresh));
          break;
        }
      }
    }
  if (cell == RnnCell::gru) finish_gru(walk, at, k);
}

void Recurrence::finish_gru(Walk& walk, std::int64_t at, std::int64_t k) {
  const std::int64_t H = shape_.hidden, R = count_, from = k * R * H;
  const std::vector<double>& bias = parameters_.bias[place(at)];
  add_recurrent(walk.aside, from, at, 2, 1, sums_, 3 * H);
#pragma omp parallel for collapse(2) if (R * H > worth_threads_of_cells)
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t j = 0; j < H; ++j) {
      const std::int64_t i = from + r * H + j, gate = ((k * R + r) * 3) * H + j;
      const UncertainNumber fresh =
          hyperbolic(sums_[(r * 3 + 2) * H + j] + exact(bias[place(2 * H + j)]));
      walk.gates.set(gate + 2 * H, round_stored(fresh, u_others_));
      const UncertainNumber h = fresh + walk.gates[gate] * (walk.h[i] - fresh);
      walk.h.set(i + R * H, round_stored(h, u_operands_));
    }
}

}  // namespace assay::recurrent
