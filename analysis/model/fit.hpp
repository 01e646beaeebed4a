#pragma once
// Least squares and the errors of its coefficients.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A matrix by its columns.
using Columns = std::vector<std::vector<double>>;

/// A column that earlier ones determine.
struct Alias {
  std::size_t column;
  std::vector<std::pair<std::size_t, double>> sum_of;  ///< column, factor; empty: it is all zero
};

struct LeastSquares {
  std::vector<std::size_t> kept;  ///< columns with a coefficient: every one that no earlier ones
                                  ///< determine, as R keeps them
  std::vector<Alias> aliased;
  std::vector<double> estimates;             ///< of the kept columns
  std::vector<std::vector<double>> inverse;  ///< (X'X)^-1 of the kept columns
  std::vector<double> fitted, residuals, leverage;
  double squares = 0;     ///< sum of squared residuals
  bool constant = false;  ///< whether the columns span the constant
  bool perfect = false;   ///< residuals are rounding errors: nothing to estimate errors from

  std::size_t n() const { return residuals.size(); }
  std::size_t df() const { return n() - kept.size(); }
  /// What the model says for a row of all columns; nothing if these observations cannot tell, since
  /// the row does not share a dependence that all of them have.
  std::optional<double> at(const std::vector<double>& row) const;
  /// The kept columns' part of such a row.
  std::vector<double> part(const std::vector<double>& row) const;
};

LeastSquares least_squares(const Columns& x, const std::vector<double>& y);

struct Quality {
  double sigma = 0;
  std::optional<double> r2, adjusted_r2;  ///< about the mean where the columns span the constant
};
Quality quality(const LeastSquares& fit, const std::vector<double>& y);

struct FTest {
  double value = 0, p = 1;
  std::size_t df1 = 0, df2 = 0;
  std::string reason;  ///< why there is none
};

/// The covariance of the estimates and what follows from it.
struct Errors {
  std::vector<std::vector<double>> covariance;
  std::vector<std::string> reasons;  ///< of each coefficient: why it has no error; "" if it has
  std::size_t df = 0;                ///< of t
  std::size_t groups = 0;            ///< 0: not clustered
  FTest f;
};

/// sigma^2 (X'X)^-1, with t of n - k degrees of freedom.
Errors plain_errors(const LeastSquares& fit, const std::vector<double>& y);

/// CR1: the sandwich of the groups' scores times G/(G-1) (n-1)/(n-k), with t of G - 1 degrees of
/// freedom, as Stata and statsmodels have it. `group` of each observation, from 0. No error for a
/// coefficient that one group alone determines (its scores sum to zero: the sandwich would call it
/// exact), and none at all where the groups are not more than the coefficients that differ only
/// between groups.
Errors clustered_errors(const Columns& x, const LeastSquares& fit,
                        const std::vector<std::size_t>& group);

/// Of a two-sided interval of 95 %.
inline constexpr double confidence = 0.95;
double t_quantile(std::size_t df);
double t_p_value(double t, std::size_t df);

}  // namespace assay
