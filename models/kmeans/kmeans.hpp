#pragma once
// K-means of a table that is spread over ranks: Lloyd's iterations (S. P. Lloyd, Least squares
// quantization in PCM, IEEE Trans. Inf. Theory 28, 1982).

#include <memory>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/analytics_benchmark.hpp"
#include "models/relations.hpp"
#include "models/rows.hpp"

namespace assay {

/// Of the iterations with one number of centroids.
struct KmeansSettings {
  std::int64_t clusters = 3;
  bool plus_plus = false;  ///< start by k-means++; else by random rows
  int iterations = 10;     ///< at most
  double tolerance = -1;   ///< stop when no centroid moved by more than this part of the root mean
                           ///< square distance of the rows; below 0: never
  std::uint64_t seed = 1234;  ///< of the starting rows: CORAL-2's
};

/// What the iterations went through, the same on every rank. One iteration assigns every row to
/// its nearest centroid, then moves each centroid to the mean of its rows; one without rows stays
/// where it is.
struct Trajectory {
  std::vector<std::vector<double>> centroids;  ///< [iterations + 1][k * d]: first the start
  std::vector<std::vector<double>> counts;     ///< [iterations][k] rows of each centroid
  std::vector<double> inertia;  ///< [iterations] sum of squared distances to the centroids before
  int iterations = 0;           ///< that were made
  double moved = 0;             ///< last: largest move over the root mean square distance
};

/// Starting centroids [k * d], chosen among the rows. Untimed, collective; the choice does not
/// depend on the number of ranks, up to rounding. Random rows are distinct; k-means++ is that of
/// Arthur and Vassilvitskii (SODA 2007).
std::vector<double> starting_centroids(const Table& table, const RowPass& mine,
                                       const KmeansSettings& settings, RankCalls& ranks);

/// Checks the first, the last and a random iteration of each trajectory against the table, in fp64:
/// the centroids after it, the counts and the inertia. Rows whose two nearest centroids are equally
/// near within rounding may be with either. One pass over the table. Collective.
Verification verify_trajectories(const std::vector<const Trajectory*>& claimed, const Table& table,
                                 const RowPass& mine, RankCalls& ranks, std::uint64_t seed);

/// The operation of an iteration, on a rank of `rows` rows.
LinalgProblem assignment_of(std::int64_t rows, std::int64_t features, std::int64_t clusters,
                            Precision precision);

/// An analysis that makes these iterations in turn, with one loaded table: CORAL-2 times the
/// iterations with 2, 3 and 4 centroids as a whole. At least one.
Result<std::unique_ptr<Analysis>> make_kmeans(const AnalysisCase& from,
                                              const std::vector<KmeansSettings>& all);

}  // namespace assay
