#pragma once
// Standard errors of the coefficients of a fit, and the test of all terms together.

#include <string>
#include <vector>

#include "analysis/model/document.hpp"
#include "analysis/model/fit.hpp"

namespace assay {

/// The covariance of the estimates and what follows from it.
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
/// freedom, as in Stata and statsmodels. `group`: the group of each observation, counted from 0.
/// A coefficient that a single group determines gets a reason instead of an error: its scores sum
/// to zero, so the sandwich would report an error of zero. No coefficient gets an error where there
/// are no more groups than coefficients that differ only between groups.
Errors clustered_errors(const Eigen::MatrixXd& x, const LeastSquares& fit, const Indices& group);

/// Student's t at `confidence`, two-sided.
double t_quantile(std::size_t df);
/// Two-sided p of Student's t.
double t_p_value(double t, std::size_t df);

}  // namespace assay
