#pragma once
// K-means of a table whose rows are distributed over the ranks: Lloyd's iterations (S. P. Lloyd,
// Least squares quantization in PCM, IEEE Trans. Inf. Theory 28, 1982).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/analytics/analytics_benchmark.hpp"
#include "models/analytics/relations.hpp"
#include "models/analytics/rows.hpp"

namespace assay {

/// Settings of the iterations with one number of clusters.
struct KmeansSettings {
  std::int64_t clusters = 3;
  bool plus_plus = false;  ///< start by k-means++; else by random rows
  int iterations = 10;     ///< the most that are made
  double tolerance = -1;   ///< stop when no centroid moved by more than this part of the root mean
                           ///< square distance of the rows; below 0: never
  std::uint64_t seed = 1234;  ///< of the starting rows: CORAL-2's
};

/// The history of the iterations, equal on all ranks. One iteration assigns every row to its
/// nearest centroid, then moves each centroid to the mean of its rows; a centroid without rows does
/// not move. k: clusters; d: features.
struct Trajectory {
  std::vector<std::int64_t> start_rows;        ///< [k] rows of the table that are the start
  std::vector<std::vector<double>> centroids;  ///< [iterations + 1][k * d]: first the start
  std::vector<std::vector<double>> counts;     ///< [iterations][k] rows of each centroid
  std::vector<double> inertia;  ///< [iterations] sum of squared distances to the centroids before
  int iterations = 0;           ///< that were executed
  std::int64_t passes = 0;      ///< runs of the kernel, as its step counted them
  double moved = 0;             ///< in the last one: largest move / root mean square distance
};

/// The rows [k] that are the starting centroids. Untimed, collective; the choice does not depend on
/// the number of ranks, up to rounding. Random rows are distinct. k-means++: D. Arthur and S.
/// Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.
std::vector<std::int64_t> starting_rows(const DataTable& table, const RowPass& mine,
                                        const KmeansSettings& settings, RankCalls& ranks);
/// The values of these rows as loaded: centroids [k * d]. Collective.
std::vector<double> centroids_at(const std::vector<std::int64_t>& rows, const DataTable& table,
                                 const RowPass& mine, RankCalls& ranks);

/// The demands of a case, read from its texts. Its verification uses this, the runs KmeansSettings.
struct KmeansClaims : TableClaims {
  std::vector<std::int64_t> clusters;  ///< of each run
  std::string start = "random";        ///< or "kmeans++"; "any": the start is not checked
  std::int64_t iterations = 10;
  std::optional<double> until_moved;
  std::uint64_t seed = 1234;
  KmeansClaims() = default;
  explicit KmeansClaims(const CaseClaims& claims);
};

/// Checks that the trajectories are those of the case: their number of centroids, the start, how
/// often and how far the centroids moved, and why the run stopped. Then checks the first, the last
/// and a random iteration of each trajectory against the table, in fp64: the centroids after it,
/// the counts and the inertia. A row whose two nearest centroids are equally near within rounding
/// errors may belong to either. One pass over the table. `seed` chooses the random iteration.
/// Collective. `metrics` gets the inertia, the number of iterations and the last move of each run,
/// as they are computed here.
Verification verify_trajectories(const std::vector<const Trajectory*>& claimed,
                                 const KmeansClaims& claims, const DataTable& table,
                                 const RowPass& mine, RankCalls& ranks, std::uint64_t seed,
                                 std::vector<ExpectedMetrics>* metrics = nullptr);

/// Operations for an element of the table in one iteration: 2 for the product with each centroid, 1
/// for the sum of its own.
constexpr double operations_of_element(double clusters) { return 2 * clusters + 1; }

/// The linalg problem of one iteration on a rank with `rows` rows.
LinalgProblem make_assignment_problem(std::int64_t rows, std::int64_t features,
                                      std::int64_t clusters, Precision precision);

/// An analysis that runs k-means once with each element of `all` (at least one), on one loaded
/// table. CORAL-2 times the runs with 2, 3 and 4 clusters together.
Result<std::unique_ptr<Analysis>> make_kmeans(const AnalysisCase& analysis,
                                              const std::vector<KmeansSettings>& all);

}  // namespace assay
