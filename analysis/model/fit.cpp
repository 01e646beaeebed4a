#include "analysis/model/fit.hpp"

#include <algorithm>

namespace assay {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Residuals below this part of the response are rounding.
constexpr double rounding = 1e-12;

/// Below it, a division amplifies the rounding of the residuals to more than 1e-11 of the response.
constexpr double least_condition = 1e-5;

/// Finds the columns that earlier columns determine: Gram-Schmidt in the order of the formula. Each
/// column is orthogonalised twice, which makes it orthogonal to working precision.
void find_aliases(const MatrixXd& x, LeastSquares& fit) {
  const Index most = std::min(x.rows(), x.cols());
  MatrixXd q(x.rows(), most), r = MatrixXd::Zero(most, most);
  Index rank = 0;
  for (Index j = 0; j < x.cols(); ++j) {
    const double least = least_independent_part * x.col(j).norm();
    VectorXd rest = x.col(j), along = VectorXd::Zero(rank);
    for (int twice = 0; twice < 2; ++twice) {
      const VectorXd part = q.leftCols(rank).transpose() * rest;
      rest -= q.leftCols(rank) * part;
      along += part;
    }
    if (const double own = rest.norm(); rank < most && own > least) {
      q.col(rank) = rest / own;
      r.col(rank).head(rank) = along;
      r(rank, rank) = own;
      ++rank;
      fit.independent.push_back(j);
      continue;
    }
    Alias alias{j};
    const VectorXd factors =
        r.topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solve(along);
    for (Index i = 0; i < rank; ++i)  // smaller factors are rounding
      if (const Index other = fit.independent[i];
          std::fabs(factors(i)) * x.col(other).norm() > least)
        alias.sum_of.emplace_back(other, factors(i));
    fit.aliased.push_back(std::move(alias));
  }
}

}  // namespace

VectorXd column_lengths(const MatrixXd& matrix) {
  return matrix.colwise().norm().transpose().cwiseMax(1e-300);
}

LeastSquares least_squares(const MatrixXd& x, const VectorXd& y) {
  LeastSquares fit;
  find_aliases(x, fit);
  if (fit.independent.empty()) {  // all columns are zero
    fit.residuals = y;
    fit.fitted = fit.leverage = VectorXd::Zero(y.size());
    fit.squares = fit.variation = y.squaredNorm();
    return fit;
  }
  MatrixXd independent = x(Eigen::all, fit.independent);
  const Index k = independent.cols();
  // Columns of unit length, so that the units of the columns do not affect the condition number.
  const VectorXd length = column_lengths(independent);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(independent * length.cwiseInverse().asDiagonal());
  fit.estimates = length.cwiseInverse().asDiagonal() * qr.solve(y);
  MatrixXd right = qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(
      MatrixXd::Identity(k, k));
  right = length.cwiseInverse().asDiagonal() * (qr.colsPermutation() * right);
  fit.inverse = right * right.transpose();
  fit.residuals = y - independent * fit.estimates;
  fit.fitted = y - fit.residuals;
  independent.resize(0, 0);  // a fleet makes each of these matrices large
  fit.basis = qr.householderQ() * MatrixXd::Identity(y.size(), k);
  fit.leverage = fit.basis.rowwise().squaredNorm();
  fit.squares = fit.residuals.squaredNorm();
  fit.perfect = fit.residuals.norm() <= rounding * y.norm();
  const VectorXd ones = VectorXd::Ones(y.size());
  fit.constant = (ones - fit.basis * (fit.basis.transpose() * ones)).norm() <=
                 least_independent_part * ones.norm();
  fit.variation = fit.constant ? (y.array() - y.mean()).matrix().squaredNorm() : y.squaredNorm();
  return fit;
}

std::optional<double> LeastSquares::at(const VectorXd& row) const {
  for (const Alias& alias : aliased) {
    double sum = 0, size = std::fabs(row(alias.column));
    for (const auto& [column, factor] : alias.sum_of) {
      sum += factor * row(column);
      size += std::fabs(factor * row(column));
    }
    if (std::fabs(row(alias.column) - sum) > least_independent_part * size) return std::nullopt;
  }
  return row(independent).dot(estimates);
}

std::optional<VectorXd> LeastSquares::residuals_without(const Indices& rows) const {
  const MatrixXd q = basis(rows, Eigen::all);
  const VectorXd e = residuals(rows);
  // (I - QQ')^-1 = I + Q (I - Q'Q)^-1 Q', and both brackets have the same least eigenvalue: the
  // smaller one is solved.
  const bool by_rows = q.rows() <= q.cols();
  const Index size = std::min(q.rows(), q.cols());
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
  return by_rows ? VectorXd(solver.solve(e)) : VectorXd(e + q * solver.solve(q.transpose() * e));
}

std::optional<double> LeastSquares::unexplained() const {
  if (!(variation > 0)) return std::nullopt;
  // Rounding alone must not make R2 negative where the formula explains nothing.
  const double part = squares / variation;
  return std::fabs(1 - part) < rounding ? 1 : part;
}

}  // namespace assay
