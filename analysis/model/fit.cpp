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

/// Below it, a division amplifies the rounding of the residuals to more than 1e-11 of the response.
constexpr double least_condition = 1e-5;

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
  MatrixXd independent = chosen_columns(x, fit.independent, y.size());
  const auto k = independent.cols();
  const auto response = as_vector(y);
  // Columns of unit length, so that the units of the columns do not affect the condition number.
  const VectorXd length = column_lengths(independent);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(independent * length.cwiseInverse().asDiagonal());
  const VectorXd estimates = length.cwiseInverse().asDiagonal() * qr.solve(response);
  MatrixXd right = qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(
      MatrixXd::Identity(k, k));
  right = length.cwiseInverse().asDiagonal() * (qr.colsPermutation() * right);
  const VectorXd residuals = response - independent * estimates;
  independent.resize(0, 0);  // of a fleet each of these matrices is large
  fit.basis.resize(y.size() * fit.independent.size());
  Eigen::Map<MatrixXd> thin(fit.basis.data(), response.size(), k);
  thin = qr.householderQ() * MatrixXd::Identity(response.size(), k);
  fit.estimates = as_list(estimates);
  fit.inverse = as_lists(right * right.transpose());
  fit.fitted = as_list(response - residuals);
  fit.residuals = as_list(residuals);
  fit.leverage = as_list(thin.rowwise().squaredNorm());
  fit.squares = residuals.squaredNorm();
  fit.perfect = residuals.norm() <= rounding * response.norm();
  const VectorXd ones = VectorXd::Ones(response.size());
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

std::optional<std::vector<double>> LeastSquares::residuals_without(
    const std::vector<std::size_t>& rows) const {
  const auto m = static_cast<Eigen::Index>(rows.size()),
             k = static_cast<Eigen::Index>(independent.size());
  const Eigen::Map<const MatrixXd> all(basis.data(), static_cast<Eigen::Index>(n()), k);
  MatrixXd q(m, k);
  VectorXd e(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const std::size_t row = rows[static_cast<std::size_t>(i)];
    e(i) = residuals[row];
    q.row(i) = all.row(static_cast<Eigen::Index>(row));
  }
  // (I - QQ')^-1 = I + Q (I - Q'Q)^-1 Q', and both brackets have the same least eigenvalue: the
  // smaller one is solved.
  const bool by_rows = m <= k;
  const Eigen::Index size = std::min(m, k);
  MatrixXd others = MatrixXd::Identity(size, size);
  if (by_rows)
    others.noalias() -= q * q.transpose();
  else
    others.noalias() -= q.transpose() * q;
  const Eigen::LLT<MatrixXd> solver(others);
  if (solver.info() != Eigen::Success) return std::nullopt;
  // 1 / ||others^-1||_1: the eigenvalues are compared with 1, those of I, not with each other.
  const double least = solver.rcond() * others.cwiseAbs().colwise().sum().maxCoeff();
  if (!(least >= least_condition)) return std::nullopt;
  if (by_rows) return as_list(solver.solve(e));
  return as_list(e + q * solver.solve(q.transpose() * e));
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
