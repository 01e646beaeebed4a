#pragma once
// The reference of the gradients of weights and biases, which are sums over all rows of the batch.

#include <vector>

#include "kernels/rnn/recurrence.hpp"

namespace assay::recurrent {

/// Rows of a matrix of weights [rows][columns] whose gradients are compared: all if that is cheap;
/// otherwise the first, the last, and some in between.
std::vector<std::int64_t> choose_compared_rows(const RnnProblem& problem, std::int64_t rows);

/// The gradients of one layer and direction.
struct WeightGradient {
  std::vector<std::int64_t> rows;  ///< choose_compared_rows()
  std::vector<double> values;      ///< [rows][G*H]; of bias: one row [B*H]
  std::vector<double> variance;    ///< of the rounding errors in a typical row, for each column
};

struct WeightGradients {
  std::vector<WeightGradient> layer, iter, bias;  ///< by [layer * D + direction]
};

/// Number of batch rows whose states fit together into their part of the memory.
std::int64_t rows_in_memory(const RnnProblem& problem);

/// The recurrences of `rows_at_once` rows of the batch are in memory together. `done`: finished
/// recurrences of some rows, forward and backward; they are used if only these rows contribute. It
/// may be null.
WeightGradients weight_gradients(const RnnProblem& problem, const Parameters& parameters,
                                 const Inputs& inputs, const Products& products,
                                 std::int64_t rows_at_once, const Recurrence* done = nullptr);

}  // namespace assay::recurrent
