#pragma once
// Least squares.

#include <Eigen/Dense>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/document.hpp"

namespace assay {

/// Numbers of columns or of observations.
using Indices = std::vector<Eigen::Index>;

/// A column counts as independent if its component orthogonal to the other columns has at least
/// this fraction of its length. R's lm has the same limit.
inline constexpr double least_independent_part = 1e-7;

/// A column that earlier columns determine.
struct Alias {
  Eigen::Index column;
  /// The column is the sum of these: (column, factor). Empty: all its values are zero.
  std::vector<std::pair<Eigen::Index, double>> summands{};
};

struct LeastSquares {
  /// Columns with a coefficient: those that earlier columns do not determine, as in R.
  Indices independent;
  std::vector<Alias> aliased;  ///< the other columns
  Eigen::VectorXd estimates;   ///< of the independent columns
  Eigen::MatrixXd inverse;     ///< (X'X)^-1 of the independent columns
  Eigen::MatrixXd basis;       ///< orthonormal columns that span the independent ones
  Eigen::VectorXd fitted, residuals, leverage;
  double squares = 0;     ///< sum of the squared residuals
  double variation = 0;   ///< the same of the response: about its mean if `constant`, else about 0
  bool constant = false;  ///< true if the columns span the constant
  bool perfect = false;   ///< residuals are only rounding errors, from which no standard error
                          ///< follows

  std::size_t n() const { return static_cast<std::size_t>(residuals.size()); }
  std::size_t df() const { return n() - independent.size(); }
  /// The fitted value for a row of all columns. Nothing if the observations do not determine it,
  /// because the row breaks a dependence between columns that holds in all observations.
  std::optional<double> at(const Eigen::VectorXd& row) const;
  /// The errors with which a fit to all other rows predicts these rows: (I - H)^-1 e, with their
  /// residuals e and their part H of the hat matrix (R. D. Cook and S. Weisberg, Residuals and
  /// Influence in Regression, 1982). Nothing if the others determine a coefficient badly or not at
  /// all.
  std::optional<Eigen::VectorXd> compute_residuals_without(const Indices& rows) const;
  double sigma() const { return std::sqrt(squares / static_cast<double>(df())); }
  /// The part of the response's variation that the columns do not explain; nothing without any.
  std::optional<double> unexplained_part() const;
};

LeastSquares fit_least_squares(const Eigen::MatrixXd& x, const Eigen::VectorXd& y);

/// The length of each column, at least 1e-300, so that it can be a divisor.
Eigen::VectorXd column_lengths(const Eigen::MatrixXd& matrix);

/// The covariance of the estimates, and the errors that follow from it.
struct Errors {
  Eigen::MatrixXd covariance;
  std::vector<std::string> reasons;  ///< by coefficient: why it has no error; "" if it has one
  std::size_t df = 0;                ///< degrees of freedom of t
  std::size_t groups = 0;            ///< 0: not clustered
  FTest f{};

  double standard_error(std::size_t coefficient) const;
};

/// sigma^2 (X'X)^-1, with t of n - k degrees of freedom.
Errors plain_errors(const LeastSquares& fit);

/// CR1: the sandwich of the groups' scores times G/(G-1) (n-1)/(n-k), with t of G - 1 degrees of
/// freedom, as in Stata and statsmodels. `group`: the group of each observation, counted from 0. If
/// a single group determines a coefficient, the coefficient gets a reason instead of an error: its
/// scores sum to zero, so the sandwich would report an error of zero. No coefficient gets an error
/// unless there are more groups than coefficients that differ only between groups.
Errors compute_clustered_errors(const Eigen::MatrixXd& x, const LeastSquares& fit,
                                const Indices& group);

/// Student's t at `confidence`, two-sided.
double t_quantile(std::size_t df);
/// Two-sided p of Student's t.
double t_p_value(double t, std::size_t df);

}  // namespace assay
