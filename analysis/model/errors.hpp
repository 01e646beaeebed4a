#pragma once
// Standard errors of the coefficients of a fit, and the test of all terms together.

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/model/fit.hpp"

namespace assay {

/// F test that all coefficients but the constant are zero.
struct FTest {
  double value = 0, p = 1;
  std::size_t df1 = 0, df2 = 0;
  std::string reason;  ///< why there is no test; "" where there is one
};

/// The covariance of the estimates and what follows from it.
struct Errors {
  std::vector<std::vector<double>> covariance;
  std::vector<std::string>
      reasons;             ///< for each coefficient: why it has no error; "" if it has one
  std::size_t df = 0;      ///< degrees of freedom of t
  std::size_t groups = 0;  ///< 0: not clustered
  FTest f;
};

/// sigma^2 (X'X)^-1, with t of n - k degrees of freedom.
Errors plain_errors(const LeastSquares& fit, const std::vector<double>& y);

/// CR1: the sandwich of the groups' scores times G/(G-1) (n-1)/(n-k), with t of G - 1 degrees of
/// freedom, as in Stata and statsmodels. `group`: the group of each observation, counted from 0.
/// A coefficient that a single group determines gets a reason instead of an error: its scores sum
/// to zero, so the sandwich would report an error of zero. No coefficient gets an error where there
/// are no more groups than coefficients that differ only between groups.
Errors clustered_errors(const Columns& x, const LeastSquares& fit,
                        const std::vector<std::size_t>& group);

/// Level of the two-sided confidence intervals.
inline constexpr double confidence = 0.95;
/// Student's t at `confidence`, two-sided.
double t_quantile(std::size_t df);
/// Two-sided p of Student's t.
double t_p_value(double t, std::size_t df);

}  // namespace assay
