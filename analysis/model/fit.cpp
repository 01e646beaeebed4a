#include "analysis/model/fit.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/model/matrix.hpp"

namespace assay {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Residuals below this part of the response are rounding.
constexpr double rounding = 1e-12;

/// Finds the columns that earlier columns determine: Gram-Schmidt in the order of the formula. Each
/// column is orthogonalised twice, which makes it orthogonal to working precision.
void find_aliases(const Columns& x, std::size_t n, LeastSquares& fit) {
  const auto rows = static_cast<Eigen::Index>(n);
  const auto most = static_cast<Eigen::Index>(std::min(n, x.size()));
  MatrixXd q(rows, most), r = MatrixXd::Zero(most, most);
  Eigen::Index rank = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const auto column = as_vector(x[j]);
    VectorXd rest = column, along = VectorXd::Zero(rank);
    for (int twice = 0; twice < 2; ++twice) {
      const VectorXd part = q.leftCols(rank).transpose() * rest;
      rest -= q.leftCols(rank) * part;
      along += part;
    }
    const double own = rest.norm();
    if (rank < most && own > least_independent_part * column.norm()) {
      q.col(rank) = rest / own;
      r.col(rank).head(rank) = along;
      r(rank, rank) = own;
      ++rank;
      fit.independent.push_back(j);
      continue;
    }
    Alias alias{j, {}};
    const VectorXd factors =
        r.topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solve(along);
    for (Eigen::Index i = 0; i < rank; ++i) {
      const std::size_t other = fit.independent[static_cast<std::size_t>(i)];
      // Smaller factors are rounding.
      if (std::fabs(factors(i)) * as_vector(x[other]).norm() >
          least_independent_part * column.norm())
        alias.sum_of.emplace_back(other, factors(i));
    }
    fit.aliased.push_back(std::move(alias));
  }
}

}  // namespace

LeastSquares least_squares(const Columns& x, const std::vector<double>& y) {
  LeastSquares fit;
  find_aliases(x, y.size(), fit);
  if (fit.independent.empty()) {  // all columns are zero
    fit.residuals = y;
    fit.fitted.assign(y.size(), 0);
    fit.leverage.assign(y.size(), 0);
    fit.squares = as_vector(y).squaredNorm();
    return fit;
  }
  const MatrixXd independent = chosen_columns(x, fit.independent, y.size());
  const auto k = independent.cols();
  const auto response = as_vector(y);
  // Columns of unit length, so that the units of the columns do not affect the condition number.
  const VectorXd length = column_lengths(independent);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(independent * length.cwiseInverse().asDiagonal());
  const VectorXd estimates = length.cwiseInverse().asDiagonal() * qr.solve(response);
  MatrixXd right = qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(
      MatrixXd::Identity(k, k));
  right = length.cwiseInverse().asDiagonal() * (qr.colsPermutation() * right);
  const MatrixXd thin = qr.householderQ() * MatrixXd::Identity(independent.rows(), k);
  const VectorXd residuals = response - independent * estimates;
  fit.estimates = as_list(estimates);
  fit.inverse = as_lists(right * right.transpose());
  fit.fitted = as_list(response - residuals);
  fit.residuals = as_list(residuals);
  fit.leverage = as_list(thin.rowwise().squaredNorm());
  fit.squares = residuals.squaredNorm();
  fit.perfect = residuals.norm() <= rounding * response.norm();
  const VectorXd ones = VectorXd::Ones(independent.rows());
  fit.constant =
      (ones - thin * (thin.transpose() * ones)).norm() <= least_independent_part * ones.norm();
  return fit;
}

std::vector<double> LeastSquares::independent_part(const std::vector<double>& row) const {
  std::vector<double> values;
  for (const std::size_t column : independent) values.push_back(row[column]);
  return values;
}

std::optional<double> LeastSquares::at(const std::vector<double>& row) const {
  for (const Alias& alias : aliased) {
    double sum = 0, size = std::fabs(row[alias.column]);
    for (const auto& [column, factor] : alias.sum_of) {
      sum += factor * row[column];
      size += std::fabs(factor * row[column]);
    }
    if (std::fabs(row[alias.column] - sum) > least_independent_part * size) return std::nullopt;
  }
  return as_vector(independent_part(row)).dot(as_vector(estimates));
}

Quality quality_of(const LeastSquares& fit, const std::vector<double>& y) {
  Quality made;
  const auto df = static_cast<double>(fit.df());
  made.sigma = std::sqrt(fit.squares / df);
  const double total = total_squares(y, fit.constant);
  if (total > 0) {
    // Rounding alone must not make R2 negative where the model explains nothing.
    const double ratio = fit.squares / total, left = std::fabs(1 - ratio) < rounding ? 1 : ratio;
    made.r2 = 1 - left;
    made.adjusted_r2 = 1 - left * (static_cast<double>(fit.n()) - (fit.constant ? 1 : 0)) / df;
  }
  return made;
}

}  // namespace assay
