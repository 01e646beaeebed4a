#pragma once
// Conversions between standard vectors and Eigen's types.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/model/fit.hpp"

namespace assay {

/// A column counts as independent if its component orthogonal to the other columns has at least
/// this fraction of its length. R's lm has the same limit.
inline constexpr double least_independent_part = 1e-7;

inline Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

inline std::vector<double> as_list(const Eigen::VectorXd& values) {
  return {values.data(), values.data() + values.size()};
}

/// A matrix as a list of its rows.
inline std::vector<std::vector<double>> as_lists(const Eigen::MatrixXd& matrix) {
  std::vector<std::vector<double>> rows;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) rows.push_back(as_list(matrix.row(i)));
  return rows;
}

/// A square matrix from its rows.
inline Eigen::MatrixXd as_matrix(const std::vector<std::vector<double>>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i) matrix.row(i) = as_vector(rows[static_cast<std::size_t>(i)]);
  return matrix;
}

/// The chosen columns of `x`, each of `n` values.
inline Eigen::MatrixXd chosen_columns(const Columns& x, const std::vector<std::size_t>& columns,
                                      std::size_t n) {
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j)
    matrix.col(static_cast<Eigen::Index>(j)) = as_vector(x[columns[j]]);
  return matrix;
}

/// The length of each column, at least 1e-300, so that it can be a divisor.
inline Eigen::VectorXd column_lengths(const Eigen::MatrixXd& matrix) {
  return matrix.colwise().norm().transpose().cwiseMax(1e-300);
}

/// Sum of squares about the mean, or about zero.
inline double total_squares(const std::vector<double>& y, bool about_mean) {
  const auto response = as_vector(y);
  return about_mean ? (response.array() - response.mean()).matrix().squaredNorm()
                    : response.squaredNorm();
}

}  // namespace assay
