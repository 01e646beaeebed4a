#include "analysis/model/errors.hpp"

#include <fmt/format.h>

#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <functional>

#include "analysis/model/matrix.hpp"

namespace assay {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr const char* no_residual = "the fit leaves no residual, so errors cannot be estimated";
constexpr const char* only_constant = "the model has no term besides the constant";

FTest f_test(double value, std::size_t df1, std::size_t df2) {
  FTest test;
  if (!std::isfinite(value) || value < 0) {
    test.reason = "the covariance of the coefficients is singular";
    return test;
  }
  test.value = value;
  test.df1 = df1;
  test.df2 = df2;
  const boost::math::fisher_f distribution(static_cast<double>(df1), static_cast<double>(df2));
  test.p = boost::math::cdf(boost::math::complement(distribution, value));
  return test;
}

/// The independent columns of a fit, and the group of each of their rows.
struct Clustered {
  MatrixXd x;
  const std::vector<std::size_t>& group;
  Index groups;

  Index rows() const { return x.rows(); }
  Index columns() const { return x.cols(); }
  Index group_of(Index row) const {
    return static_cast<Index>(group[static_cast<std::size_t>(row)]);
  }
};

/// For each group (a column) the sum of its rows, each times its residual.
MatrixXd scores_of(const Clustered& data, const std::vector<double>& residuals) {
  MatrixXd scores = MatrixXd::Zero(data.columns(), data.groups);
  for (Index i = 0; i < data.rows(); ++i)
    scores.col(data.group_of(i)) +=
        data.x.row(i).transpose() * residuals[static_cast<std::size_t>(i)];
  return scores;
}

/// How many combinations of coefficients differ only between groups: the rank that is lost when the
/// means of the groups are subtracted. Their errors have G minus this number degrees of freedom,
/// however many observations there are.
Index coefficients_between_groups(const Clustered& data) {
  MatrixXd means = MatrixXd::Zero(data.groups, data.columns());
  VectorXd sizes = VectorXd::Zero(data.groups);
  for (Index i = 0; i < data.rows(); ++i) {
    means.row(data.group_of(i)) += data.x.row(i);
    sizes(data.group_of(i)) += 1;
  }
  means = sizes.cwiseInverse().asDiagonal() * means;
  MatrixXd within = data.x;
  for (Index i = 0; i < data.rows(); ++i) within.row(i) -= means.row(data.group_of(i));
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(within *
                                                column_lengths(data.x).cwiseInverse().asDiagonal());
  Index rank = 0;
  while (rank < std::min(data.rows(), data.columns()) &&
         std::fabs(qr.matrixR()(rank, rank)) > least_independent_part)
    ++rank;
  return data.columns() - rank;
}

/// Coefficients that a single group determines. Such a direction is an eigenvector of that group's
/// part of the hat matrix with the eigenvalue 1.
std::vector<bool> determined_by_one_group(const Clustered& data) {
  const Index k = data.columns();
  const Eigen::HouseholderQR<MatrixXd> qr(data.x *
                                          column_lengths(data.x).cwiseInverse().asDiagonal());
  const MatrixXd q = qr.householderQ() * MatrixXd::Identity(data.rows(), k);
  const MatrixXd r = qr.matrixQR().topLeftCorner(k, k).triangularView<Eigen::Upper>();
  std::vector<std::vector<Index>> members(static_cast<std::size_t>(data.groups));
  for (Index i = 0; i < data.rows(); ++i)
    members[static_cast<std::size_t>(data.group_of(i))].push_back(i);
  constexpr double least = 1 - least_independent_part;
  std::vector<bool> determined(static_cast<std::size_t>(k), false);
  for (const std::vector<Index>& rows : members) {
    // Q'Q and QQ' have the same eigenvalues other than zero: those of the smaller one are found.
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
        if (std::fabs(moved(j)) > least_independent_part * moved.norm())
          determined[static_cast<std::size_t>(j)] = true;
    }
  }
  return determined;
}

/// Wald's statistic that the `tested` coefficients are all zero, over their number; NAN where their
/// covariance is singular. Computed in units of the errors, so that the units of the columns do not
/// decide what is singular.
double wald_statistic(const MatrixXd& covariance, const std::vector<double>& estimates,
                      const std::vector<Index>& tested) {
  const auto m = static_cast<Index>(tested.size());
  MatrixXd block(m, m);
  VectorXd slopes(m);
  for (Index a = 0; a < m; ++a) {
    const Index i = tested[static_cast<std::size_t>(a)];
    const double unit = std::sqrt(covariance(i, i));
    slopes(a) = estimates[static_cast<std::size_t>(i)] / unit;
    for (Index b = 0; b < m; ++b) {
      const Index j = tested[static_cast<std::size_t>(b)];
      block(a, b) = covariance(i, j) / (unit * std::sqrt(covariance(j, j)));
    }
  }
  const Eigen::FullPivLU<MatrixXd> solver(block);
  if (!block.allFinite() || !solver.isInvertible()) return NAN;
  return slopes.dot(solver.solve(slopes)) / static_cast<double>(m);
}

/// Wald's test that all coefficients but the intercept are zero.
FTest wald_test(const Clustered& data, const LeastSquares& fit, const MatrixXd& covariance,
                bool all_have_errors) {
  std::vector<Index> tested;
  bool intercept = false;
  for (Index j = 0; j < data.columns(); ++j) {
    const bool constant = (data.x.col(j).array() == data.x(0, j)).all();
    intercept = intercept || constant;
    if (!constant) tested.push_back(j);
  }
  const auto groups = static_cast<std::size_t>(data.groups);
  FTest test;
  if (fit.perfect)
    test.reason = no_residual;
  else if (!all_have_errors)
    test.reason = "a coefficient has no error";
  else if (tested.empty())
    test.reason = only_constant;
  else if (fit.constant && !intercept)
    test.reason = "the model has no intercept of its own to test against";
  else if (tested.size() >= groups)
    test.reason = fmt::format("{} groups are too few to test {} coefficients together", groups,
                              tested.size());
  else
    test = f_test(wald_statistic(covariance, fit.estimates, tested), tested.size(), groups - 1);
  return test;
}

}  // namespace

Errors plain_errors(const LeastSquares& fit, const std::vector<double>& y) {
  Errors errors;
  errors.df = fit.df();
  const double variance = fit.squares / static_cast<double>(fit.df());
  errors.covariance = fit.inverse;
  for (auto& row : errors.covariance)
    for (double& value : row) value *= variance;
  errors.reasons.assign(fit.independent.size(), fit.perfect ? no_residual : "");
  const std::size_t explaining = fit.independent.size() - (fit.constant ? 1 : 0);
  if (explaining == 0) {
    errors.f.reason = only_constant;
  } else if (fit.perfect) {
    errors.f.reason = no_residual;
  } else {
    const double explained =
        (total_squares(y, fit.constant) - fit.squares) / static_cast<double>(explaining);
    errors.f = f_test(explained / variance, explaining, fit.df());
  }
  return errors;
}

Errors clustered_errors(const Columns& x, const LeastSquares& fit,
                        const std::vector<std::size_t>& group) {
  const std::size_t groups = 1 + *std::max_element(group.begin(), group.end()),
                    coefficients = fit.independent.size();
  const Clustered data{chosen_columns(x, fit.independent, fit.n()), group,
                       static_cast<Index>(groups)};
  Errors errors;
  errors.groups = groups;
  errors.df = groups - 1;
  errors.reasons.assign(coefficients, fit.perfect ? no_residual : "");
  errors.covariance.assign(coefficients, std::vector<double>(coefficients, 0));

  const Index between = coefficients_between_groups(data);
  if (groups < 2 || data.groups <= between) {
    const std::string reason =
        groups < 2 ? "clustered errors need at least 2 groups, and there is only one"
                   : fmt::format(
                         "{} groups are too few for the errors of {} coefficient{} that differ{} "
                         "only between groups",
                         groups, between, between == 1 ? "" : "s", between == 1 ? "s" : "");
    errors.reasons.assign(coefficients, reason);
    errors.f.reason = reason;
    return errors;
  }

  const double correction = static_cast<double>(groups) / static_cast<double>(groups - 1) *
                            static_cast<double>(data.rows() - 1) /
                            static_cast<double>(data.rows() - data.columns());
  const MatrixXd half = as_matrix(fit.inverse) * scores_of(data, fit.residuals);
  const MatrixXd covariance = correction * half * half.transpose();
  errors.covariance = as_lists(covariance);

  const std::vector<bool> determined = determined_by_one_group(data);
  for (std::size_t j = 0; j < coefficients; ++j)
    if (determined[j])
      errors.reasons[j] =
          "a single group determines it, so its variation between groups is unknown";
  const bool all_have_errors = std::none_of(determined.begin(), determined.end(), std::identity());
  errors.f = wald_test(data, fit, covariance, all_have_errors);
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
