#pragma once
// The gradients of weights and biases, to which all rows of the batch contribute.

#include <vector>

#include "kernels/rnn/recurrence.hpp"

namespace assay::recurrent {

/// Rows of a matrix of weights [rows][columns] whose gradients are compared: all where that is
/// cheap, else the first and last ones and a spread of others.
std::vector<std::int64_t> compared_rows(const RnnProblem& problem, std::int64_t rows);

/// One layer and direction. `variance`: of the rounding errors, for each column, of a typical row.
struct WeightGradient {
  std::vector<std::int64_t> rows;
  std::vector<double> values;  ///< [rows][G*H]; of bias: one row [B*H]
  std::vector<double> variance;
};

struct WeightGradients {
  std::vector<WeightGradient> layer, iter, bias;  ///< by [layer * D + direction]
};

WeightGradients weight_gradients(const RnnProblem& problem, const Parameters& parameters,
                                 const Inputs& inputs, const Products& products);

}  // namespace assay::recurrent
