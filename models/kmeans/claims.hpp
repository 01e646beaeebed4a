#pragma once
// The claims of a case about its runs of K-means, and the relations that follow from the history of
// a run alone. Internal to the verification.

#include <cstdint>
#include <vector>

#include "models/kmeans/kmeans.hpp"

namespace assay {

/// The starting centroids that the case makes from its seed, drawn again.
class ClaimedStart {
 public:
  ClaimedStart(const KmeansClaims& claims, std::int64_t clusters);
  /// random: the rows. kmeans++: the first row.
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// kmeans++: centroid c is the row at which a running sum passes parts()[c] of the whole. It sums
  /// the squared distances of the rows to the earlier centroids.
  const std::vector<double>& parts() const { return parts_; }

 private:
  std::vector<std::int64_t> rows_;
  std::vector<double> parts_;
};

/// Number of starting centroids that differ from the rows that the trajectory names, or of rows
/// that the seed does not choose. Reads each of these rows. Collective.
double wrong_starts(const Trajectory& trajectory, const KmeansClaims& claims, std::int64_t clusters,
                    const DataTable& table, RankCalls& ranks);

/// The relations between what a case asks for and the histories of its runs.
std::vector<Relation> relations_of_history(const std::vector<const Trajectory*>& claimed,
                                           const KmeansClaims& claims);

/// The largest move of a centroid in an iteration over the root mean square distance of the rows;
/// and the relative error of both computations of it, which sum d squares.
double move_in(const Trajectory& trajectory, std::size_t step, const KmeansClaims& claims);
double error_of_move(const KmeansClaims& claims);

/// The number of iterations that the arrays of a trajectory really have.
std::size_t iterations_in(const Trajectory& trajectory);

/// a, or b if it is larger or NaN.
inline double at_least(double a, double b) { return b > a || !(b == b) ? b : a; }

}  // namespace assay
