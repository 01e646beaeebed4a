#include "analysis/model/fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace assay {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Part of a column's length that must be its own (R's lm has the same).
constexpr double own_part = 1e-7;
/// Residuals below this part of the response are rounding.
constexpr double rounding = 1e-12;

Eigen::Map<const VectorXd> as_vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

std::vector<double> as_list(const VectorXd& values) {
  return {values.data(), values.data() + values.size()};
}

std::vector<std::vector<double>> as_lists(const MatrixXd& matrix) {
  std::vector<std::vector<double>> rows;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) rows.push_back(as_list(matrix.row(i)));
  return rows;
}

MatrixXd as_matrix(const std::vector<std::vector<double>>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i) matrix.row(i) = as_vector(rows[static_cast<std::size_t>(i)]);
  return matrix;
}

MatrixXd chosen(const Columns& x, const std::vector<std::size_t>& columns, std::size_t n) {
  MatrixXd matrix(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j)
    matrix.col(static_cast<Eigen::Index>(j)) = as_vector(x[columns[j]]);
  return matrix;
}

/// Which columns earlier ones determine: Gram-Schmidt in the order of the formula, each column
/// orthogonalised twice, which leaves it orthogonal to working precision.
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
    if (rank < most && own > own_part * column.norm()) {
      q.col(rank) = rest / own;
      r.col(rank).head(rank) = along;
      r(rank, rank) = own;
      ++rank;
      fit.kept.push_back(j);
      continue;
    }
    Alias alias{j, {}};
    const VectorXd factors =
        r.topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solve(along);
    for (Eigen::Index i = 0; i < rank; ++i) {
      const std::size_t other = fit.kept[static_cast<std::size_t>(i)];
      // What is left of the others is rounding.
      if (std::fabs(factors(i)) * as_vector(x[other]).norm() > own_part * column.norm())
        alias.sum_of.emplace_back(other, factors(i));
    }
    fit.aliased.push_back(std::move(alias));
  }
}

FTest f_test(double value, std::size_t df1, std::size_t df2) {
  FTest test;
  if (!std::isfinite(value) || value < 0) {
    test.reason = "the covariance of the coefficients is singular";
    return test;
  }
  test.value = value;
  test.df1 = df1;
  test.df2 = df2;
  const boost::math::fisher_f law(static_cast<double>(df1), static_cast<double>(df2));
  test.p = boost::math::cdf(boost::math::complement(law, value));
  return test;
}

double total_squares(const std::vector<double>& y, bool about_mean) {
  const auto response = as_vector(y);
  return about_mean ? (response.array() - response.mean()).matrix().squaredNorm()
                    : response.squaredNorm();
}

const char* const no_error_left =
    "the fit leaves no residual, so there is nothing to tell errors from";

}  // namespace

LeastSquares least_squares(const Columns& x, const std::vector<double>& y) {
  LeastSquares fit;
  find_aliases(x, y.size(), fit);
  if (fit.kept.empty()) {  // every column is zero
    fit.residuals = y;
    fit.fitted.assign(y.size(), 0);
    fit.leverage.assign(y.size(), 0);
    fit.squares = as_vector(y).squaredNorm();
    return fit;
  }
  const MatrixXd kept = chosen(x, fit.kept, y.size());
  const auto k = kept.cols();
  const auto response = as_vector(y);
  // A column of unit length each: the numerical condition is then that of the model, not of units.
  const VectorXd length = kept.colwise().norm().transpose().cwiseMax(1e-300);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(kept * length.cwiseInverse().asDiagonal());
  const VectorXd estimates = length.cwiseInverse().asDiagonal() * qr.solve(response);
  MatrixXd right = qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(
      MatrixXd::Identity(k, k));
  right = length.cwiseInverse().asDiagonal() * (qr.colsPermutation() * right);
  const MatrixXd thin = qr.householderQ() * MatrixXd::Identity(kept.rows(), k);
  const VectorXd residuals = response - kept * estimates;
  fit.estimates = as_list(estimates);
  fit.inverse = as_lists(right * right.transpose());
  fit.fitted = as_list(response - residuals);
  fit.residuals = as_list(residuals);
  fit.leverage = as_list(thin.rowwise().squaredNorm());
  fit.squares = residuals.squaredNorm();
  fit.perfect = residuals.norm() <= rounding * response.norm();
  const VectorXd ones = VectorXd::Ones(kept.rows());
  fit.constant = (ones - thin * (thin.transpose() * ones)).norm() <= own_part * ones.norm();
  return fit;
}

std::vector<double> LeastSquares::part(const std::vector<double>& row) const {
  std::vector<double> values;
  for (const std::size_t column : kept) values.push_back(row[column]);
  return values;
}

std::optional<double> LeastSquares::at(const std::vector<double>& row) const {
  for (const Alias& alias : aliased) {
    double sum = 0, size = std::fabs(row[alias.column]);
    for (const auto& [column, factor] : alias.sum_of) {
      sum += factor * row[column];
      size += std::fabs(factor * row[column]);
    }
    if (std::fabs(row[alias.column] - sum) > own_part * size) return std::nullopt;
  }
  return as_vector(part(row)).dot(as_vector(estimates));
}

Quality quality(const LeastSquares& fit, const std::vector<double>& y) {
  Quality made;
  const auto df = static_cast<double>(fit.df());
  made.sigma = std::sqrt(fit.squares / df);
  const double total = total_squares(y, fit.constant);
  if (total > 0) {
    // A model that explains nothing leaves everything but for rounding, which is no negative R2.
    const double ratio = fit.squares / total, left = std::fabs(1 - ratio) < rounding ? 1 : ratio;
    made.r2 = 1 - left;
    made.adjusted_r2 = 1 - left * (static_cast<double>(fit.n()) - (fit.constant ? 1 : 0)) / df;
  }
  return made;
}

Errors plain_errors(const LeastSquares& fit, const std::vector<double>& y) {
  Errors errors;
  errors.df = fit.df();
  const double variance = fit.squares / static_cast<double>(fit.df());
  errors.covariance = fit.inverse;
  for (auto& row : errors.covariance)
    for (double& value : row) value *= variance;
  errors.reasons.assign(fit.kept.size(), fit.perfect ? no_error_left : "");
  const std::size_t explaining = fit.kept.size() - (fit.constant ? 1 : 0);
  if (explaining == 0)
    errors.f.reason = "the model has no term beside the constant";
  else if (fit.perfect)
    errors.f.reason = no_error_left;
  else
    errors.f = f_test(
        (total_squares(y, fit.constant) - fit.squares) / static_cast<double>(explaining) / variance,
        explaining, fit.df());
  return errors;
}

Errors clustered_errors(const Columns& x, const LeastSquares& fit,
                        const std::vector<std::size_t>& group) {
  const MatrixXd kept = chosen(x, fit.kept, fit.n());
  const auto n = kept.rows(), k = kept.cols();
  const std::size_t groups = 1 + *std::max_element(group.begin(), group.end());
  const auto many = static_cast<Eigen::Index>(groups);
  const auto of = [&](Eigen::Index i) {
    return static_cast<Eigen::Index>(group[static_cast<std::size_t>(i)]);
  };
  Errors errors;
  errors.groups = groups;
  errors.df = groups - 1;
  errors.reasons.assign(fit.kept.size(), fit.perfect ? no_error_left : "");
  errors.covariance.assign(fit.kept.size(), std::vector<double>(fit.kept.size(), 0));

  // Scores and means of the groups.
  MatrixXd scores = MatrixXd::Zero(k, many), means = MatrixXd::Zero(many, k);
  VectorXd sizes = VectorXd::Zero(many);
  for (Eigen::Index i = 0; i < n; ++i) {
    scores.col(of(i)) += kept.row(i).transpose() * fit.residuals[static_cast<std::size_t>(i)];
    means.row(of(i)) += kept.row(i);
    sizes(of(i)) += 1;
  }
  means = sizes.cwiseInverse().asDiagonal() * means;
  MatrixXd within = kept;
  for (Eigen::Index i = 0; i < n; ++i) within.row(i) -= means.row(of(i));
  // Combinations of coefficients that only groups differ in: what taking the means away leaves
  // without rank. They have G - `between` degrees of freedom for their error, whatever n is.
  const VectorXd length = kept.colwise().norm().transpose().cwiseMax(1e-300);
  Eigen::ColPivHouseholderQR<MatrixXd> inner(within * length.cwiseInverse().asDiagonal());
  Eigen::Index rank = 0;
  while (rank < std::min(n, k) && std::fabs(inner.matrixR()(rank, rank)) > own_part) ++rank;
  const Eigen::Index between = k - rank;
  if (many < 2 || many <= between) {
    const std::string reason = fmt::format(
        "{} group{} cannot tell the errors of {} coefficient{} that differ only between groups",
        groups, groups == 1 ? "" : "s", between, between == 1 ? "" : "s");
    errors.reasons.assign(fit.kept.size(), reason);
    errors.f.reason = reason;
    return errors;
  }

  const MatrixXd inverse = as_matrix(fit.inverse);
  const double correction = static_cast<double>(groups) / static_cast<double>(groups - 1) *
                            static_cast<double>(n - 1) / static_cast<double>(n - k);
  const MatrixXd half = inverse * scores;
  const MatrixXd covariance = correction * half * half.transpose();
  errors.covariance = as_lists(covariance);

  // A direction that one group alone determines is an eigenvector of its hat matrix with value 1.
  const Eigen::HouseholderQR<MatrixXd> qr(kept * length.cwiseInverse().asDiagonal());
  const MatrixXd q = qr.householderQ() * MatrixXd::Identity(n, k);
  const MatrixXd r = qr.matrixQR().topLeftCorner(k, k).triangularView<Eigen::Upper>();
  std::vector<MatrixXd> hats(groups, MatrixXd::Zero(k, k));
  for (Eigen::Index i = 0; i < n; ++i)
    hats[group[static_cast<std::size_t>(i)]].selfadjointView<Eigen::Lower>().rankUpdate(
        q.row(i).transpose());
  bool determined = false;
  for (const MatrixXd& hat : hats) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(hat);
    for (Eigen::Index e = 0; e < k; ++e) {
      if (solver.eigenvalues()(e) < 1 - own_part) continue;
      const VectorXd moved = r.triangularView<Eigen::Upper>().solve(solver.eigenvectors().col(e));
      for (Eigen::Index j = 0; j < k; ++j)
        if (std::fabs(moved(j)) > own_part * moved.norm()) {
          errors.reasons[static_cast<std::size_t>(j)] =
              "one group alone determines it: how it varies between groups is not known";
          determined = true;
        }
    }
  }

  // Wald's test that all coefficients but the intercept are zero.
  std::vector<Eigen::Index> tested;
  bool intercept = false;
  for (Eigen::Index j = 0; j < k; ++j) {
    const bool constant = (kept.col(j).array() == kept(0, j)).all();
    intercept = intercept || constant;
    if (!constant) tested.push_back(j);
  }
  if (fit.perfect)
    errors.f.reason = no_error_left;
  else if (determined)
    errors.f.reason = "a coefficient has no error";
  else if (tested.empty())
    errors.f.reason = "the model has no term beside the constant";
  else if (fit.constant && !intercept)
    errors.f.reason = "the model has no intercept of its own to test against";
  else if (tested.size() >= groups)
    errors.f.reason =
        fmt::format("{} groups cannot test {} coefficients together", groups, tested.size());
  else {
    const auto m = static_cast<Eigen::Index>(tested.size());
    // In units of the errors: singular is then a matter of the model, not of the columns' units.
    MatrixXd block(m, m);
    VectorXd slopes(m);
    for (Eigen::Index a = 0; a < m; ++a) {
      const Eigen::Index i = tested[static_cast<std::size_t>(a)];
      const double unit = std::sqrt(covariance(i, i));
      slopes(a) = fit.estimates[static_cast<std::size_t>(i)] / unit;
      for (Eigen::Index b = 0; b < m; ++b) {
        const Eigen::Index j = tested[static_cast<std::size_t>(b)];
        block(a, b) = covariance(i, j) / (unit * std::sqrt(covariance(j, j)));
      }
    }
    const Eigen::FullPivLU<MatrixXd> solver(block);
    const double value = block.allFinite() && solver.isInvertible()
                             ? slopes.dot(solver.solve(slopes)) / static_cast<double>(m)
                             : NAN;
    errors.f = f_test(value, tested.size(), groups - 1);
  }
  return errors;
}

double t_quantile(std::size_t df) {
  const boost::math::students_t law(static_cast<double>(df));
  return boost::math::quantile(boost::math::complement(law, (1 - confidence) / 2));
}

double t_p_value(double t, std::size_t df) {
  const boost::math::students_t law(static_cast<double>(df));
  return 2 * boost::math::cdf(boost::math::complement(law, std::fabs(t)));
}

}  // namespace assay
