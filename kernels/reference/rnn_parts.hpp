#pragma once
// The states of the reference's recurrent networks, and their products.

#include <cstdint>
#include <vector>

#include "kernels/reference/plain_operation.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay::reference {

/// One layer in one direction: places of its fp64 arrays. Steps are in the order of the walk.
struct Walk {
  std::size_t l = 0;
  std::int64_t d = 0, inputs = 0;
  std::int64_t layer = -1, iter = 0, bias = 0;  ///< weights, in the scratch
  std::int64_t h = 0, c = 0;                    ///< states [T + 1][N][H]
  std::int64_t gates = 0, diff = 0;             ///< [T][N][G][H]
  std::int64_t aside = 0, diff_aside = 0;       ///< [T][N][H]; gru: r*h; gru_lbr: U_o h + b'_o
  std::int64_t diff_h = 0, diff_c = 0;          ///< [N][H]
  std::int64_t time(std::int64_t k, std::int64_t steps) const { return d == 0 ? k : steps - 1 - k; }
};

struct Plan {
  RnnProblem problem;
  RnnShape shape;
  std::int64_t step;                  ///< values of one state, N*H
  std::vector<Walk> walks;            ///< by [layer * D + direction]
  std::vector<std::int64_t> between;  ///< input of each layer, and dst_layer
  std::int64_t diff_input = 0, states = 0;
  /// Scratch: weights and biases (gradients of weights lie at `diff_weights` as these do at 0).
  std::int64_t weights_layer = 0, weights_iter = 0, bias = 0, above = 0, below = 0, gathered = 0,
               arrives = 0, product = 0, diff_weights = 0, scratch = 0;
  explicit Plan(const RnnProblem& problem);
};

/// out[n][c] += sum over k of a[n][k] w[k][c]; rows lie `lda`, `ldw`, `ldo` values apart.
void multiply(int threads, std::int64_t rows, std::int64_t terms, std::int64_t columns,
              const double* a, std::int64_t lda, const double* w, std::int64_t ldw, double* out,
              std::int64_t ldo);
/// out[n][k] += sum over c of a[n][c] w[k][c].
void multiply_transposed(int threads, std::int64_t rows, std::int64_t terms, std::int64_t columns,
                         const double* a, std::int64_t lda, const double* w, std::int64_t ldw,
                         double* out, std::int64_t ldo);
/// out[k][c] += sum over n of a[n][k] b[n][c].
void add_outer(int threads, std::int64_t terms, std::int64_t rows, std::int64_t columns,
               const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* out,
               std::int64_t ldo);

}  // namespace assay::reference
