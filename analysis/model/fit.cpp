#include "analysis/model/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <functional>

namespace assay {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Residuals below this fraction of the response are rounding errors.
constexpr double rounding = 1e-12;

/// Below this value, a division amplifies the rounding of the residuals to more than 1e-11 of the
/// response.
constexpr double least_condition = 1e-5;

/// Finds the columns that earlier columns determine, by Gram-Schmidt in the order of the formula.
/// Each column is orthogonalised twice, which makes it orthogonal to working precision.
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
        alias.summands.emplace_back(other, factors(i));
    fit.aliased.push_back(std::move(alias));
  }
}

}  // namespace

VectorXd column_lengths(const MatrixXd& matrix) {
  return matrix.colwise().norm().transpose().cwiseMax(1e-300);
}

LeastSquares fit_least_squares(const MatrixXd& x, const VectorXd& y) {
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
  // Columns are scaled to unit length, so that their units do not affect the condition number.
  const VectorXd length = column_lengths(independent);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(independent * length.cwiseInverse().asDiagonal());
  fit.estimates = length.cwiseInverse().asDiagonal() * qr.solve(y);
  MatrixXd right = qr.matrixR().topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(
      MatrixXd::Identity(k, k));
  right = length.cwiseInverse().asDiagonal() * (qr.colsPermutation() * right);
  fit.inverse = right * right.transpose();
  fit.residuals = y - independent * fit.estimates;
  fit.fitted = y - fit.residuals;
  independent.resize(0, 0);  // for a fleet each of these matrices is large
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
    for (const auto& [column, factor] : alias.summands) {
      sum += factor * row(column);
      size += std::fabs(factor * row(column));
    }
    if (std::fabs(row(alias.column) - sum) > least_independent_part * size) return std::nullopt;
  }
  return row(independent).dot(estimates);
}

std::optional<VectorXd> LeastSquares::compute_residuals_without(const Indices& rows) const {
  const MatrixXd q = basis(rows, Eigen::all);
  const VectorXd e = residuals(rows);
  // (I - QQ')^-1 = I + Q (I - Q'Q)^-1 Q', and both brackets have the same least eigenvalue; so the
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
  // 1 / ||others^-1||_1: the eigenvalues are compared with 1, the eigenvalue of I, and not with
  // each other.
  const double least = solver.rcond() * others.cwiseAbs().colwise().sum().maxCoeff();
  if (!(least >= least_condition)) return std::nullopt;
  return by_rows ? VectorXd(solver.solve(e)) : VectorXd(e + q * solver.solve(q.transpose() * e));
}

std::optional<double> LeastSquares::unexplained_part() const {
  if (!(variation > 0)) return std::nullopt;
  // If the formula explains nothing, rounding must not make R2 negative.
  const double part = squares / variation;
  return std::fabs(1 - part) < rounding ? 1 : part;
}

namespace {

constexpr const char* no_residual = "the fit leaves no residual, so errors cannot be estimated";
constexpr const char* only_constant = "the model has no term besides the constant";

FTest make_untested(std::string reason) { return {{}, {}, {}, {}, std::move(reason)}; }

FTest f_test(double value, std::size_t df1, std::size_t df2) {
  if (!std::isfinite(value) || value < 0)
    return make_untested("the covariance of the coefficients is singular");
  const boost::math::fisher_f distribution(static_cast<double>(df1), static_cast<double>(df2));
  return {value, boost::math::cdf(boost::math::complement(distribution, value)), df1, df2, ""};
}

/// The independent columns of a fit, and the group of each of their rows.
struct Clustered {
  MatrixXd x;
  const Indices& group;
  Index groups;
};

/// The sum over the rows of each group (a column) of each row times its residual.
MatrixXd sum_scores(const Clustered& data, const VectorXd& residuals) {
  MatrixXd scores = MatrixXd::Zero(data.x.cols(), data.groups);
  for (Index i = 0; i < data.x.rows(); ++i)
    scores.col(data.group[i]) += data.x.row(i).transpose() * residuals(i);
  return scores;
}

/// Number of combinations of coefficients that differ only between groups: the rank that is lost
/// when the group means are subtracted. The errors of these combinations have G minus this number
/// degrees of freedom, however many observations there are.
Index coefficients_between_groups(const Clustered& data) {
  MatrixXd means = MatrixXd::Zero(data.groups, data.x.cols());
  VectorXd sizes = VectorXd::Zero(data.groups);
  for (Index i = 0; i < data.x.rows(); ++i) {
    means.row(data.group[i]) += data.x.row(i);
    sizes(data.group[i]) += 1;
  }
  means = sizes.cwiseInverse().asDiagonal() * means;
  const MatrixXd within = data.x - means(data.group, Eigen::all);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(within *
                                                column_lengths(data.x).cwiseInverse().asDiagonal());
  Index rank = 0;
  while (rank < std::min(data.x.rows(), data.x.cols()) &&
         std::fabs(qr.matrixR()(rank, rank)) > least_independent_part)
    ++rank;
  return data.x.cols() - rank;
}

/// Coefficients that a single group determines. Such a direction is an eigenvector of that group's
/// part of the hat matrix with the eigenvalue 1.
std::vector<bool> mark_single_group_coefficients(const Clustered& data) {
  const Index k = data.x.cols();
  const Eigen::HouseholderQR<MatrixXd> qr(data.x *
                                          column_lengths(data.x).cwiseInverse().asDiagonal());
  const MatrixXd q = qr.householderQ() * MatrixXd::Identity(data.x.rows(), k);
  const MatrixXd r = qr.matrixQR().topLeftCorner(k, k).triangularView<Eigen::Upper>();
  std::vector<Indices> members(static_cast<std::size_t>(data.groups));
  for (Index i = 0; i < data.x.rows(); ++i) members[data.group[i]].push_back(i);
  constexpr double least = 1 - least_independent_part;
  std::vector<bool> determined(static_cast<std::size_t>(k), false);
  for (const Indices& rows : members) {
    // Q'Q and QQ' have the same nonzero eigenvalues, so those of the smaller one are computed.
    const MatrixXd part = q(rows, Eigen::all);
    const bool by_rows = part.rows() < k;
    const MatrixXd hat =
        by_rows ? MatrixXd(part * part.transpose()) : MatrixXd(part.transpose() * part);
    const Index size = hat.rows();
    // Positive definite: no eigenvalue reaches `least`.
    if (Eigen::LLT<MatrixXd>(least * MatrixXd::Identity(size, size) - hat).info() == Eigen::Success)
      continue;
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(hat);
    for (Index e = 0; e < size; ++e) {
      if (solver.eigenvalues()(e) < least) continue;
      const VectorXd vector = solver.eigenvectors().col(e);
      const VectorXd moved = r.triangularView<Eigen::Upper>().solve(
          by_rows ? VectorXd(part.transpose() * vector) : vector);
      for (Index j = 0; j < k; ++j)
        if (std::fabs(moved(j)) > least_independent_part * moved.norm()) determined[j] = true;
    }
  }
  return determined;
}

/// Wald's statistic for the hypothesis that the `tested` coefficients are all zero, over their
/// number; NAN if their covariance is singular. It is computed in units of the errors, so that the
/// units of the columns do not decide what is singular.
double wald_statistic(const MatrixXd& covariance, const VectorXd& estimates,
                      const Indices& tested) {
  const MatrixXd block = covariance(tested, tested);
  const VectorXd units = block.diagonal().cwiseSqrt();
  const MatrixXd scaled = block.cwiseQuotient(units * units.transpose());
  const VectorXd slopes = estimates(tested).cwiseQuotient(units);
  const Eigen::FullPivLU<MatrixXd> solver(scaled);
  if (!scaled.allFinite() || !solver.isInvertible()) return NAN;
  return slopes.dot(solver.solve(slopes)) / static_cast<double>(tested.size());
}

/// Wald's test of the hypothesis that all coefficients but the intercept are zero.
FTest wald_test(const Clustered& data, const LeastSquares& fit, const MatrixXd& covariance,
                bool all_have_errors) {
  Indices tested;
  for (Index j = 0; j < data.x.cols(); ++j)
    if ((data.x.col(j).array() != data.x(0, j)).any()) tested.push_back(j);
  const bool intercept = tested.size() < fit.independent.size();
  const auto groups = static_cast<std::size_t>(data.groups);
  if (fit.perfect) return make_untested(no_residual);
  if (!all_have_errors) return make_untested("a coefficient has no error");
  if (tested.empty()) return make_untested(only_constant);
  if (fit.constant && !intercept)
    return make_untested("the model has no intercept of its own to test against");
  if (tested.size() >= groups)
    return make_untested(fmt::format("{} groups are too few to test {} coefficients together",
                                     groups, tested.size()));
  return f_test(wald_statistic(covariance, fit.estimates, tested), tested.size(), groups - 1);
}

}  // namespace

double Errors::standard_error(std::size_t coefficient) const {
  const auto i = static_cast<Index>(coefficient);
  return std::sqrt(covariance(i, i));
}

Errors plain_errors(const LeastSquares& fit) {
  const double variance = fit.squares / static_cast<double>(fit.df());
  Errors errors{fit.inverse * variance, {}, fit.df()};
  errors.reasons.assign(fit.independent.size(), fit.perfect ? no_residual : "");
  const std::size_t explaining = fit.independent.size() - (fit.constant ? 1 : 0);
  if (explaining == 0)
    errors.f = make_untested(only_constant);
  else if (fit.perfect)
    errors.f = make_untested(no_residual);
  else
    errors.f = f_test((fit.variation - fit.squares) / static_cast<double>(explaining) / variance,
                      explaining, fit.df());
  return errors;
}

Errors compute_clustered_errors(const MatrixXd& x, const LeastSquares& fit, const Indices& group) {
  const Clustered data{x(Eigen::all, fit.independent), group,
                       1 + *std::max_element(group.begin(), group.end())};
  const auto groups = static_cast<std::size_t>(data.groups);
  Errors errors{MatrixXd::Zero(data.x.cols(), data.x.cols()), {}, groups - 1, groups};
  const Index between = coefficients_between_groups(data);
  if (groups < 2 || data.groups <= between) {
    const std::string reason =
        groups < 2 ? "clustered errors need at least 2 groups, and there is only one"
                   : fmt::format(
                         "{} groups are too few for the errors of {} coefficient{} that differ{} "
                         "only between groups",
                         groups, between, between == 1 ? "" : "s", between == 1 ? "s" : "");
    errors.reasons.assign(fit.independent.size(), reason);
    errors.f = make_untested(reason);
    return errors;
  }

  const double correction = static_cast<double>(groups) / static_cast<double>(groups - 1) *
                            static_cast<double>(data.x.rows() - 1) /
                            static_cast<double>(data.x.rows() - data.x.cols());
  const MatrixXd half = fit.inverse * sum_scores(data, fit.residuals);
  errors.covariance = correction * half * half.transpose();
  const std::vector<bool> determined = mark_single_group_coefficients(data);
  for (const bool alone : determined)
    errors.reasons.emplace_back(
        alone         ? "a single group determines it, so its variation between groups is unknown"
        : fit.perfect ? no_residual
                      : "");
  const bool all_have_errors = std::none_of(determined.begin(), determined.end(), std::identity());
  errors.f = wald_test(data, fit, errors.covariance, all_have_errors);
  return errors;
}

double t_quantile(std::size_t df) {
  const boost::math::students_t distribution(static_cast<double>(df));
  return boost::math::quantile(boost::math::complement(distribution, (1 - confidence) / 2));
}

double t_p_value(double t, std::size_t df) {
  const boost::math::students_t distribution(static_cast<double>(df));
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::fabs(t)));
}

}  // namespace assay
