#pragma once
// Least squares.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A matrix by its columns.
using Columns = std::vector<std::vector<double>>;

/// A column that earlier columns determine.
struct Alias {
  std::size_t column;
  /// The column is the sum of these: (column, factor). Empty: all its values are zero.
  std::vector<std::pair<std::size_t, double>> sum_of;
};

struct LeastSquares {
  /// Columns with a coefficient: all that earlier columns do not determine, as in R.
  std::vector<std::size_t> independent;
  std::vector<Alias> aliased;                ///< the other columns
  std::vector<double> estimates;             ///< of the independent columns
  std::vector<std::vector<double>> inverse;  ///< (X'X)^-1 of the independent columns
  std::vector<double> basis;  ///< orthonormal columns that span the independent ones, in a row
  std::vector<double> fitted, residuals, leverage;
  double squares = 0;     ///< sum of the squared residuals
  bool constant = false;  ///< whether the columns span the constant
  bool perfect = false;   ///< residuals are mere rounding errors, which determine no standard error

  std::size_t n() const { return residuals.size(); }
  std::size_t df() const { return n() - independent.size(); }
  /// The fitted value for a row of all columns. Nothing where the observations do not determine it:
  /// the row breaks a dependence between columns that all observations have.
  std::optional<double> at(const std::vector<double>& row) const;
  /// The errors with which a fit to all other rows predicts these rows: (I - H)^-1 e, with their
  /// residuals e and their part H of the hat matrix (R. D. Cook and S. Weisberg, Residuals and
  /// Influence in Regression, 1982). Nothing if the others determine a coefficient badly or not at
  /// all.
  std::optional<std::vector<double>> residuals_without(const std::vector<std::size_t>& rows) const;
  /// The values of the independent columns in a row of all columns.
  std::vector<double> independent_part(const std::vector<double>& row) const;
};

LeastSquares least_squares(const Columns& x, const std::vector<double>& y);

struct Quality {
  double sigma = 0;                       ///< standard deviation of the residuals
  std::optional<double> r2, adjusted_r2;  ///< about the mean where the columns span the constant
};

Quality quality_of(const LeastSquares& fit, const std::vector<double>& y);

}  // namespace assay
