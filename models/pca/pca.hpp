#pragma once
// Principal components of a table whose rows are distributed over the ranks. d: number of features.

#include <memory>
#include <string>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/analytics/analytics_benchmark.hpp"
#include "models/analytics/relations.hpp"
#include "models/ranks.hpp"

namespace assay {

/// The result of both methods, equal on all ranks.
struct Components {
  std::vector<double> mean;        ///< [d]
  std::vector<double> variances;   ///< [d] eigenvalues of the covariance matrix, descending
  std::vector<double> directions;  ///< [d, d]: row j is the unit eigenvector of variance j, its
                                   ///< element of largest magnitude positive
  explicit Components(std::int64_t features);
  /// Fills all values with NaN.
  void poison();
};

/// The precision to which a method resolves the variances.
struct Resolution {
  DataType type = DataType::fp64;  ///< of the loaded table
  double roundoff = 0;  ///< unit roundoff of the arithmetic that sums some rows; sums of more than
                        ///< most_rows_in_fp32 rows are fp64
  /// False ("gram"): errors of variances are relative to the largest variance. True ("tsqr"):
  /// errors of standard deviations are relative to the largest one, so variances are resolved down
  /// to the square of that relative error.
  bool of_roots = false;
  double of_operands = 0;  ///< errors of the differences between rows and the shift
};

/// Number of rows that a backend may add in fp32 before it adds their sum in fp64. MomentsOracle
/// refuses backends that add more.
inline constexpr double most_rows_in_fp32 = 256;

/// `moments`: the backend's statements about its sums and operands; its results are judged
/// accordingly.
Resolution compute_resolution(DataType type, bool of_roots, const Execution& moments);
/// The same for the demands in the texts of a case.
Resolution compute_claimed_resolution(const CaseClaims& claims, const Execution& moments);

/// Bound of the rounding errors of a result, relative to the largest variance (or to its square
/// root, if of_roots): a random walk of n = `rows` roundings (walks in fp32 end after
/// most_rows_in_fp32 rows), and the errors of an eigensolver (docs/method-analytics.md).
double error_of_components(double rows, double features, const Resolution& resolution);

/// Checks that `components` are those of the table that the case claims: mean, residual,
/// orthogonality, trace and order. Reads the rows of `table` again, not the loaded ones. `metrics`
/// gets the deviations along the first and the last direction. Collective.
Verification verify_components(const Components& components, const TableClaims& claims,
                               const DataTable& table, RowRange mine, const Resolution& resolution,
                               RankCalls& ranks, int threads, std::uint64_t seed,
                               ExpectedMetrics* metrics = nullptr);

/// The mean of rank 0's first rows (at most 256). It is subtracted from all rows, so that sums of
/// squares lose no digits if the mean is large.
class Shift {
 public:
  Shift(Device& device, Tensor& x, RowRange mine);
  void prepare(RankCalls& ranks) { ranks.prepare(values_); }
  const std::vector<double>& find(RankCalls& ranks);  ///< [d]; collective

 private:
  Device& device_;
  Tensor& x_;
  std::int64_t rows_;
  std::vector<std::byte> stored_;
  std::vector<double> decoded_, values_;
};

// The linalg problems of the methods. Problems of d x d matrices are computed in fp64: they cost
// little compared with the passes over the rows. gram: the moments of a rank's rows.
LinalgProblem make_moments_problem(std::int64_t rows, std::int64_t features, Precision precision);
LinalgProblem make_eigh_problem(std::int64_t features);
/// tsqr: the QR factorization of a block of rows of [1, x - shift] below the triangle of the
/// earlier blocks.
LinalgProblem make_qr_problem(std::int64_t features);

/// CORAL-2's method: one pass for the moments, one allreduce of the packed triangle, then the
/// eigenvectors of the covariance matrix on every rank.
Result<std::unique_ptr<Analysis>> gram_pca(const AnalysisCase& analysis);
/// The R factor of the centred table by a tree of QR factorizations, over blocks of rows and then
/// over ranks, and its singular values: variances below the roundoff of the largest one are kept.
Result<std::unique_ptr<Analysis>> tsqr_pca(const AnalysisCase& analysis);

/// The metrics of both methods: the largest and the smallest standard deviation, and the number of
/// variances that `error` does not resolve.
std::map<std::string, Metric> make_metrics(const Components& components, double error,
                                           const Resolution& resolution);
/// Sorts by descending variance and fixes the signs. `columns`: directions as columns, variances
/// ascending, as eigh gives them.
void set_ascending(Components& components, const std::vector<double>& variances,
                   const std::vector<double>& columns);

}  // namespace assay
