#pragma once
// Principal components of a table that is spread over ranks.

#include <memory>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/analytics_benchmark.hpp"
#include "models/ranks.hpp"
#include "models/relations.hpp"

namespace assay {

/// What both methods give, the same on every rank.
struct Components {
  std::vector<double> mean;        ///< [d]
  std::vector<double> variances;   ///< [d] eigenvalues of the covariance matrix, descending
  std::vector<double> directions;  ///< [d, d]: row j is the unit eigenvector of variance j, its
                                   ///< element of largest magnitude positive
  explicit Components(std::int64_t features);
  /// Becomes what no result is.
  void poison();
};

/// How exactly a method resolves the variances.
struct Resolution {
  DataType type = DataType::fp64;  ///< of the loaded table
  double roundoff = 0;             ///< of the arithmetic that sums the rows
  /// Errors are relative to the largest variance ("gram"), or to its root ("tsqr"), which resolves
  /// variances down to the square of that.
  bool of_roots = false;
};

/// Part of the largest variance (or of its root) by which rounding errors may move a result: a
/// random walk of n roundings and those of an eigensolver (docs/method-analytics.md).
double error_of_components(double rows, double features, const Resolution& resolution);

/// Whether `components` are those of the table, from its rows (not from what was loaded): mean,
/// residual, orthogonality, trace and order. Collective.
Verification verify_components(const Components& components, const Table& table, RowRange mine,
                               const Resolution& resolution, RankCalls& ranks, int threads,
                               std::uint64_t seed);

/// The mean of rank 0's first rows, which keeps sums of squares small where a mean is large.
/// `buffer`: room for the rows as they are stored. Collective.
class Shift {
 public:
  Shift(Device& device, Tensor& x, RowRange mine);
  void prepare(RankCalls& ranks) { ranks.prepare(values_); }
  const std::vector<double>& find(RankCalls& ranks);

 private:
  Device& device_;
  Tensor& x_;
  std::int64_t rows_;
  std::vector<std::byte> stored_;
  std::vector<double> decoded_, values_;
};

// The operations that the methods are made of. d x d alone, fp64 costs nothing beside the rows.
/// gram: of a rank's rows.
LinalgProblem moments_of(std::int64_t rows, std::int64_t features, Precision precision);
LinalgProblem eigh_of(std::int64_t features);
/// tsqr: of a block of rows of [1, x - shift] below the triangle of those before.
LinalgProblem qr_block_of(std::int64_t features);

/// CORAL-2's method: one pass for the moments, one allreduce of the packed triangle, then the
/// eigenvectors of the covariance matrix on every rank.
Result<std::unique_ptr<Analysis>> gram_pca(const AnalysisCase& from);
/// The R factor of the centred table by a tree of QR factorizations, over blocks of rows and then
/// over ranks, and its singular values: variances below the roundoff of the largest one are kept.
Result<std::unique_ptr<Analysis>> tsqr_pca(const AnalysisCase& from);

/// What both report.
std::map<std::string, Metric> metrics_of(const Components& components, double error,
                                         const Resolution& resolution);
/// Sorts by descending variance and fixes the signs. `columns`: directions as columns, variances
/// ascending, as eigh gives them.
void set_ascending(Components& components, const std::vector<double>& variances,
                   const std::vector<double>& columns);

}  // namespace assay
