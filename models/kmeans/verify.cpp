// Verification of Lloyd's iterations: the history that each run claims is checked at the first, the
// last and a random iteration, which the run cannot predict. Each iteration depends only on the
// centroids before it.

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>

#include "models/kmeans/claims.hpp"

namespace assay {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<const Matrix>;
using Sum = Eigen::Map<Eigen::RowVectorXd>;

constexpr std::int64_t rows_at_once = 64;  // of 250 features: 128 KB, which stay in a cache

/// Sums of one checked iteration, from `offset` on in one array: sums [k * d], counts [k], squared
/// norms of each centroid's rows [k], inertia, and the inertia that uncertain rows (which may
/// belong to another centroid) can add; number and distances of the uncertain rows of each centroid
/// [k each]; distances of each centroid's own rows [k]; for each column [d each], its part of the
/// inertia and of the squared norms. For the start of kmeans++ also, for each centroid, three sums
/// of squared distances to the earlier centroids: of all rows, of the rows before its row, and of
/// its row.
struct Sizes {
  std::size_t k = 0, d = 0, offset = 0;
  bool plus_plus = false;
  std::size_t counts() const { return k * d; }
  std::size_t norms() const { return counts() + k; }
  std::size_t inertia() const { return norms() + k; }
  std::size_t doubt() const { return inertia() + 1; }
  std::size_t uncertain() const { return doubt() + 1; }
  std::size_t distances() const { return uncertain() + k; }
  std::size_t reach() const { return distances() + k; }
  std::size_t columns() const { return reach() + k; }
  std::size_t squares() const { return columns() + d; }
  std::size_t weights() const { return squares() + d; }
  std::size_t size() const { return weights() + (plus_plus ? 3 * k : 0); }
};

/// An iteration that is checked.
struct CheckedIteration {
  const Trajectory& claimed;
  std::size_t step;
  Sizes at;
  Rows from;              ///< [k, d] the centroids before it
  Eigen::VectorXd norms;  ///< their squared norms
};

/// Errors of differences between scores ||c||^2 - 2 x.c, as parts of ||x||^2 + ||c||^2 + ||c'||^2.
struct Roundoff {
  double claimed;    ///< of the backend's scores, in the type of the table
  double own;        ///< of the scores of this check
  double underflow;  ///< of products in the type of the table; absolute
};

/// The error of the difference of two scores. A score consists of a norm and a product, both sums
/// of d products in any order. Each sum has an error of at most d u / (1 - d u) times the sum of
/// its absolute terms (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 3.1), and 2
/// |x|.|c| <= ||x||^2 + ||c||^2. The constant covers the subtractions.
double error_of_scores(std::size_t d) {
  return 2 * (static_cast<double>(d) + 8) * unit_roundoff(DataType::fp64);
}

/// True if the score of `nearest` is below every other by more than any rounding. False where a
/// score is NaN.
bool is_clear(const Eigen::VectorXd& scores, Eigen::Index nearest, double norm,
              const CheckedIteration& checked, Roundoff roundoff) {
  const Eigen::VectorXd& norms = checked.norms;
  for (Eigen::Index c = 0; c < scores.size(); ++c)
    if (c != nearest && !(scores[c] - scores[nearest] >
                          (roundoff.claimed + roundoff.own) * (norm + norms[c] + norms[nearest]) +
                              roundoff.underflow))
      return false;
  return true;
}

Eigen::Index find_smallest(const Eigen::VectorXd& values) {
  return std::min_element(values.begin(), values.end()) - values.begin();
}

/// The centroid nearest to a row, from the distances themselves. Adds the row to the uncertain rows
/// of each centroid that the backend's scores may make the nearest.
Eigen::Index find_nearest(const Rows::ConstRowXpr& x, double norm, const CheckedIteration& checked,
                          Roundoff roundoff, double* sums) {
  const Sizes& at = checked.at;
  const Eigen::VectorXd distances = (checked.from.rowwise() - x).rowwise().squaredNorm();
  const Eigen::Index nearest = find_smallest(distances);
  const auto add = [&](Eigen::Index c) {
    const auto place = static_cast<std::size_t>(c);
    sums[at.uncertain() + place] += 1;
    sums[at.distances() + place] += std::sqrt(distances[c]);
  };
  double farthest = -1;
  for (Eigen::Index c = 0; c < distances.size(); ++c) {
    const double slack =
        roundoff.claimed * (norm + checked.norms[c] + checked.norms[nearest]) + roundoff.underflow;
    if (c == nearest || distances[c] - distances[nearest] > slack) continue;
    farthest = std::max(farthest, distances[c]);
    add(c);
  }
  if (farthest < 0) return nearest;
  add(nearest);
  sums[at.doubt()] += farthest - distances[nearest];
  return nearest;
}

/// For each centroid, adds the squared distance of row `row` to the earlier centroids. Negative
/// weights are rounding errors.
void add_weights(const Eigen::VectorXd& scores, double norm, std::int64_t row,
                 const CheckedIteration& checked, double* weights) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 1; c < checked.at.k; ++c) {
    least = std::min(least, std::max(0.0, scores[static_cast<Eigen::Index>(c - 1)] + norm));
    const std::int64_t start = checked.claimed.start_rows[c];
    weights[3 * c] += least;
    weights[3 * c + 1] += row < start ? least : 0;
    weights[3 * c + 2] += row == start ? least : 0;
  }
}

/// Adds rows, from number `first` on, to the sums of their nearest centroids. One matrix product
/// gives all scores; only rows with unclear scores need all distances.
void add_rows(const Rows& x, const Eigen::VectorXd& norms, const CheckedIteration& checked,
              Roundoff roundoff, std::int64_t first, double* sums) {
  const Sizes& at = checked.at;
  const Matrix products = x * checked.from.transpose();
  Eigen::VectorXd scores;
  Eigen::RowVectorXd parts;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    scores = checked.norms - 2 * products.row(i).transpose();
    Eigen::Index nearest = find_smallest(scores);
    if (!is_clear(scores, nearest, norms[i], checked, roundoff))
      nearest = find_nearest(x.row(i), norms[i], checked, roundoff, sums);
    const auto place = static_cast<std::size_t>(nearest);
    parts = (x.row(i) - checked.from.row(nearest)).cwiseAbs2();
    const double distance = parts.sum();
    Sum(sums + place * at.d, x.cols()) += x.row(i);
    Sum(sums + at.columns(), x.cols()) += parts;
    Sum(sums + at.squares(), x.cols()) += x.row(i).cwiseAbs2();
    sums[at.counts() + place] += 1;
    sums[at.inertia()] += distance;
    sums[at.reach() + place] += std::sqrt(distance);
    sums[at.norms() + place] += norms[i];
    if (at.plus_plus) add_weights(scores, norms[i], first + i, checked, sums + at.weights());
  }
}

/// Number of centroids of kmeans++ at whose row the running sum does not pass the drawn part.
double wrong_choices(const CheckedIteration& checked, const KmeansClaims& claims,
                     const double* sums) {
  if (!checked.at.plus_plus) return 0;
  const ClaimedStart start(claims, static_cast<std::int64_t>(checked.at.k));
  const auto rows = static_cast<double>(claims.rows);
  const double* const norms = sums + checked.at.norms();
  const double all_norms = std::accumulate(norms, norms + checked.at.k, 0.0);
  double wrong = 0;
  for (std::size_t c = 1; c < checked.at.k; ++c) {
    const double* const weights = sums + checked.at.weights() + 3 * c;
    const double all = weights[0], wanted = start.parts()[c] * all;
    // Rounding errors of sums over rows, and of each row's scores.
    const double slack =
        8 * rows * unit_roundoff(DataType::fp64) * all +
        2 * error_of_scores(checked.at.d) * (all_norms + rows * checked.norms.maxCoeff());
    wrong += !(weights[1] - slack <= wanted && wanted <= weights[1] + weights[2] + slack);
  }
  return wrong;
}

/// The largest errors of the checked iterations beyond rounding; and the largest relative error of
/// an inertia that these relations cannot detect.
struct Errors {
  double centroids = 0, counts = 0, inertia = 0, hidden = 0;
};

/// error / whole; 0 if there is no error, even if whole is 0. Keeps NaN.
double compute_part(double error, double whole) { return error <= 0 ? 0 : error / whole; }

/// The error of a centroid [d] without certain rows, relative to the norm that it may have. A
/// centroid without rows must keep its exact place. Otherwise it is the mean of `count` rows, so
/// its move is at most their mean distance: `distances` (the sum over all rows that it may have)
/// over `count`.
double error_of_empty(std::span<const double> before, std::span<const double> after, double count,
                      double distances, double roundoff) {
  if (!(count > 0))
    return std::ranges::equal(before, after) ? 0 : std::numeric_limits<double>::infinity();
  double moved = 0, norm_before = 0, norm = 0;
  for (std::size_t j = 0; j < after.size(); ++j) {
    moved += (after[j] - before[j]) * (after[j] - before[j]);
    norm_before += before[j] * before[j];
    norm += after[j] * after[j];
  }
  const double allowed = distances / count * (1 + error_of_scores(after.size()));
  return compute_part(std::sqrt(moved) - allowed - roundoff * std::sqrt(norm),
                      std::sqrt(norm_before) + allowed);
}

/// The relative part of the inertia that undetected wrong assignments and centroids can add.
/// Centroids may be off by `error` of their rows. The inertia of columns that are constant in each
/// cluster consists of such errors, so it does not count; if there are no other columns, no error
/// is large compared with it.
double compute_hidden_part(const double* sums, const Sizes& at, double error) {
  double real = 0, noise = 0;
  for (std::size_t j = 0; j < at.d; ++j) {
    const double of_rounding = error * error * sums[at.squares() + j];
    noise += of_rounding;
    if (of_rounding < largest_decided * sums[at.columns() + j]) real += sums[at.columns() + j];
  }
  const double doubt = sums[at.doubt()];
  if (real > 0) return (doubt + noise) / real;
  return doubt <= 4 * noise ? 0 : doubt / noise;  // of two centroids, each off by that
}

void compare(const Trajectory& claimed, std::size_t step, const double* sums, const Sizes& at,
             DataType type, double bound, Errors& worst) {
  worst.hidden = at_least(worst.hidden, compute_hidden_part(sums, at, bound + unit_roundoff(type)));
  for (std::size_t c = 0; c < at.k; ++c) {
    const double count = sums[at.counts() + c], uncertain = sums[at.uncertain() + c];
    worst.counts = at_least(worst.counts, std::abs(claimed.counts[step][c] - count) - uncertain);
    if (count <= uncertain) {  // may have none, or any of the uncertain rows
      const auto place = [&](std::size_t at_step) {
        return std::span(claimed.centroids[at_step]).subspan(c * at.d, at.d);
      };
      const double members = uncertain == 0 ? 0 : claimed.counts[step][c],
                   reach = sums[at.reach() + c] + sums[at.distances() + c];
      worst.centroids = at_least(
          worst.centroids,
          error_of_empty(place(step), place(step + 1), members, reach, unit_roundoff(type)));
      continue;
    }
    double error = 0, moved = 0, norm = 0;
    for (std::size_t j = c * at.d; j < (c + 1) * at.d; ++j) {
      const double mean = sums[j] / count, difference = claimed.centroids[step + 1][j] - mean;
      error += difference * difference;
      moved += (mean - claimed.centroids[step][j]) * (mean - claimed.centroids[step][j]);
      norm += mean * mean;
    }
    // Each row x that joins or leaves moves the mean m by at most ||x - m|| over the number of
    // remaining rows. ||x - m|| is at most the distance from x to the earlier centroid plus that
    // from this centroid to m.
    // The mean is rounded once to the table's type.
    const double allowed =
        (sums[at.distances() + c] + uncertain * std::sqrt(moved)) / (count - uncertain) +
        unit_roundoff(type) * std::sqrt(norm);
    worst.centroids =
        at_least(worst.centroids,
                 compute_part(std::sqrt(error) - allowed, std::sqrt(sums[at.norms() + c] / count)));
  }
  worst.inertia =
      at_least(worst.inertia,
               compute_part(std::abs(claimed.inertia[step] - sums[at.inertia()]) - sums[at.doubt()],
                            sums[at.inertia()]));
}

/// The first, the last and a random one of the executed iterations.
std::vector<CheckedIteration> check_iterations(const std::vector<const Trajectory*>& claimed,
                                               const std::string& start, std::size_t d,
                                               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<CheckedIteration> all;
  std::size_t offset = 0;
  for (const Trajectory* trajectory : claimed) {
    const std::size_t iterations_made = iterations_in(*trajectory);
    if (iterations_made == 0) continue;
    const std::size_t k = trajectory->centroids.front().size() / d;
    for (const std::size_t step :
         std::set<std::size_t>{0, iterations_made - 1, random() % iterations_made}) {
      const Rows from(trajectory->centroids[step].data(), static_cast<Eigen::Index>(k),
                      static_cast<Eigen::Index>(d));
      const bool plus_plus = step == 0 && start == "kmeans++" && trajectory->start_rows.size() == k;
      all.push_back(
          {*trajectory, step, {k, d, offset, plus_plus}, from, from.rowwise().squaredNorm()});
      offset += all.back().at.size();
    }
  }
  return all;
}

/// Number of last centroids whose bits differ from rank 0's, over all ranks. A rank with other
/// centroids would diverge from the other ranks.
double differing_centroids(const std::vector<const Trajectory*>& claimed, RankCalls& ranks) {
  double differing = 0;
  for (const Trajectory* trajectory : claimed) {
    // Only executed iterations count: with --until-moved, the last ones may be unwritten.
    const std::vector<double>& mine = trajectory->centroids[iterations_in(*trajectory)];
    std::vector<double> first = mine;
    ranks.broadcast(first);
    for (std::size_t i = 0; i < mine.size(); ++i)
      differing += std::bit_cast<std::uint64_t>(mine[i]) != std::bit_cast<std::uint64_t>(first[i]);
  }
  ranks.sum(std::span(&differing, 1));
  return differing;
}

/// The metrics of the last iteration of each trajectory. `error` is the relative error of an
/// inertia.
std::vector<ExpectedMetrics> make_metrics(const std::vector<const Trajectory*>& claimed,
                                          const std::vector<CheckedIteration>& iterations,
                                          const KmeansClaims& claims,
                                          const std::vector<double>& sums, double error) {
  std::vector<ExpectedMetrics> all(claimed.size());
  for (std::size_t i = 0; i < claimed.size(); ++i)
    for (const CheckedIteration& iteration : iterations) {
      if (&iteration.claimed != claimed[i] || iteration.step + 1 != iterations_in(*claimed[i]))
        continue;
      const double* const own = &sums[iteration.at.offset];
      const double moved = move_in(*claimed[i], iteration.step, claims);
      const double inertia = own[iteration.at.inertia()];
      all[i]["inertia"] = {inertia, error * inertia + own[iteration.at.doubt()], 0};
      all[i]["iterations"] = {static_cast<double>(iteration.step + 1), 0, 0};
      all[i]["moved"] = {moved, error_of_move(claims) * moved, 0};
    }
  return all;
}

}  // namespace

Verification verify_trajectories(const std::vector<const Trajectory*>& claimed,
                                 const KmeansClaims& claims, const DataTable& table,
                                 const RowPass& mine, RankCalls& ranks, std::uint64_t seed,
                                 std::vector<ExpectedMetrics>* metrics) {
  const auto d = static_cast<std::size_t>(table.features());
  const double of_products = 8 * std::sqrt(static_cast<double>(d)) * unit_roundoff(mine.type);
  const double underflow =
      static_cast<double>(d) * (mine.type == DataType::fp32 ? std::numeric_limits<float>::min()
                                                            : std::numeric_limits<double>::min());
  const std::vector<CheckedIteration> iterations = check_iterations(claimed, claims.start, d, seed);
  const std::size_t size =
      iterations.empty() ? 0 : iterations.back().at.offset + iterations.back().at.size();
  const std::vector<double> sums = sums_over_ranks(
      table, mine, size,
      [&](std::int64_t block, std::span<const double> x, std::span<const double>,
          std::span<double> all) {
        const std::int64_t count = std::ssize(x) / table.features();
        for (std::int64_t first = 0; first < count; first += rows_at_once) {
          const Rows part(x.data() + first * table.features(),
                          std::min(rows_at_once, count - first), table.features());
          const Eigen::VectorXd norms = part.rowwise().squaredNorm();
          for (const CheckedIteration& iteration : iterations)
            add_rows(part, norms, iteration, {of_products, error_of_scores(d), underflow},
                     mine.range.first + block + first, &all[iteration.at.offset]);
        }
      },
      ranks);
  // Sums over rows are fp64.
  const double summed = error_of_sums(static_cast<double>(table.rows())),
               of_means = summed + 4 * unit_roundoff(DataType::fp64);
  Errors worst;
  double starts = 0;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (claimed[i]->iterations == 0) worst.counts = std::numeric_limits<double>::infinity();
    if (claims.start != "any" && i < claims.clusters.size())
      starts += wrong_starts(*claimed[i], claims, claims.clusters[i], table, ranks);
  }
  for (const CheckedIteration& iteration : iterations) {
    compare(iteration.claimed, iteration.step, &sums[iteration.at.offset], iteration.at, mine.type,
            of_means, worst);
    starts += wrong_choices(iteration, claims, &sums[iteration.at.offset]);
  }
  std::vector<Relation> relations{
      all_rows(sums.back(), claims.rows),
      {"centroids", "max (||c - mean of its rows|| - v ||mean||) / rms of these rows",
       worst.centroids, of_means},
      {"counts", "rows that are with no nearest centroid", worst.counts, 0},
      {"inertia", "|inertia - sum of squared distances| / that sum", worst.inertia,
       summed + of_products},
      {"ranks", "elements of the last centroids that are not rank 0's, to the bit",
       differing_centroids(claimed, ranks), 0},
      {"start", "starting centroids that the seed does not choose", starts, 0}};
  for (Relation& relation : relations_of_history(claimed, claims))
    relations.push_back(std::move(relation));
  if (metrics != nullptr)
    *metrics = make_metrics(claimed, iterations, claims, sums, summed + of_products);
  Verification checked =
      make_verification(relations, mine.range.count * table.features(),
                        "the first, the last and a random iteration, over all rows");
  leave_undecided(
      checked, worst.hidden,
      "rows are too near each other for their distance to the origin. Subtract the mean "
      "of each column, use --precision fp64, or fewer clusters");
  return checked;
}

}  // namespace assay
