#include "kernels/reference/rnn_parts.hpp"

#include <algorithm>
#include <utility>

namespace assay::reference {
namespace {

constexpr std::int64_t block = 64;  ///< columns whose sums stay in the first cache

}  // namespace

Plan::Plan(const RnnProblem& recurrent)
    : problem(recurrent), shape(recurrent.shape()), step(shape.batch * shape.hidden) {
  const std::int64_t T = shape.steps, H = shape.hidden, G = shape.gates(), D = shape.directions;
  const auto saved = [this](std::int64_t values) { return std::exchange(states, states + values); };
  const auto take = [this](std::int64_t values) {
    return std::exchange(scratch, scratch + values);
  };
  std::int64_t widest = D * H;
  for (std::int64_t l = 0; l < shape.layers; ++l) {
    between.push_back(saved(T * shape.batch * recurrent.count_inputs(l)));
    widest = std::max(widest, recurrent.count_inputs(l));
  }
  between.push_back(saved(T * shape.batch * D * H));
  const std::int64_t of_layer = recurrent.count_inputs(shape.layers - 1) * G * H,
                     of_iter = H * G * H, of_bias = shape.biases() * H;
  weights_layer = take(recurrent.weighted_layers() * D * of_layer);
  weights_iter = take(shape.layers * D * of_iter);
  bias = take(shape.layers * D * of_bias);
  for (std::int64_t i = 0; i < shape.layers * D; ++i) {
    Walk walk;
    walk.l = static_cast<std::size_t>(i / D);
    walk.d = i % D;
    walk.inputs = recurrent.count_inputs(i / D);
    if (recurrent.find_place(i / D) >= 0)
      walk.layer = weights_layer + (recurrent.find_place(i / D) * D + walk.d) * of_layer;
    walk.iter = weights_iter + i * of_iter;
    walk.bias = bias + i * of_bias;
    walk.h = saved((T + 1) * step);
    walk.c = saved((T + 1) * step);
    walk.gates = saved(T * step * G);
    walk.aside = saved(T * step);
    if (!is_forward(recurrent.direction())) {
      walk.diff = saved(T * step * G);
      walk.diff_aside = saved(T * step);
      walk.diff_h = saved(step);
      walk.diff_c = saved(step);
    }
    walks.push_back(walk);
  }
  gathered = take(shape.layers * D * step);
  if (is_forward(recurrent.direction())) return;
  diff_input = saved(T * shape.batch * recurrent.count_inputs(0));
  above = take(T * shape.batch * D * H);
  below = take(T * shape.batch * widest);
  arrives = take(step);
  product = take(step);
  diff_weights = take(bias + shape.layers * D * of_bias);
}

void multiply(int threads, std::int64_t rows, std::int64_t terms, std::int64_t columns,
              const double* a, std::int64_t lda, const double* w, std::int64_t ldw, double* out,
              std::int64_t ldo) {
#pragma omp parallel for num_threads(threads)
  for (std::int64_t first = 0; first < columns; first += block) {
    const std::int64_t count = std::min(block, columns - first);
    for (std::int64_t n = 0; n < rows; ++n) {
      double sums[block] = {};
      for (std::int64_t k = 0; k < terms; ++k)
        for (std::int64_t c = 0; c < count; ++c) sums[c] += a[n * lda + k] * w[k * ldw + first + c];
      for (std::int64_t c = 0; c < count; ++c) out[n * ldo + first + c] += sums[c];
    }
  }
}

void multiply_transposed(int threads, std::int64_t rows, std::int64_t terms, std::int64_t columns,
                         const double* a, std::int64_t lda, const double* w, std::int64_t ldw,
                         double* out, std::int64_t ldo) {
#pragma omp parallel for num_threads(threads)
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t n = 0; n < rows; ++n) {
      double sums[4] = {};
      for (std::int64_t c = 0; c < terms; ++c) sums[c % 4] += a[n * lda + c] * w[k * ldw + c];
      out[n * ldo + k] += sums[0] + sums[1] + sums[2] + sums[3];
    }
}

void add_outer(int threads, std::int64_t terms, std::int64_t rows, std::int64_t columns,
               const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* out,
               std::int64_t ldo) {
#pragma omp parallel for num_threads(threads)
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t n = 0; n < terms; ++n)
      for (std::int64_t c = 0; c < columns; ++c)
        out[k * ldo + c] += a[n * lda + k] * b[n * ldb + c];
}

}  // namespace assay::reference
