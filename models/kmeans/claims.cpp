#include "models/kmeans/claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "core/base/text.hpp"
#include "core/measure/rank_failure.hpp"

namespace assay {

double move_in(const Trajectory& trajectory, std::size_t step, const KmeansClaims& claims) {
  const std::vector<double>&before = trajectory.centroids[step],
        &after = trajectory.centroids[step + 1];
  const auto d = static_cast<std::size_t>(claims.features);
  double farthest = 0;
  for (std::size_t first = 0; first + d <= std::min(before.size(), after.size()); first += d) {
    double squared = 0;
    for (std::size_t j = first; j < first + d; ++j)
      squared += (after[j] - before[j]) * (after[j] - before[j]);
    farthest = at_least(farthest, squared);
  }
  if (farthest == 0) return 0;
  return std::sqrt(farthest / (trajectory.inertia[step] / static_cast<double>(claims.rows)));
}

double error_of_move(const KmeansClaims& claims) {
  return 2 * (static_cast<double>(claims.features) + 8) * unit_roundoff(DataType::fp64);
}

namespace {

/// True if the run stopped earlier or later than the case demands.
bool stops_wrongly(const Trajectory& trajectory, const KmeansClaims& claims) {
  const auto iterations_made = iterations_in(trajectory);
  if (iterations_made == 0 || static_cast<std::int64_t>(iterations_made) > claims.iterations)
    return true;
  const bool all = static_cast<std::int64_t>(iterations_made) == claims.iterations;
  if (!claims.until_moved) return !all;
  const double slack = error_of_move(claims) * *claims.until_moved;
  if (!all && !(move_in(trajectory, iterations_made - 1, claims) <= *claims.until_moved + slack))
    return true;
  for (std::size_t step = 0; step + 1 < iterations_made; ++step)
    if (move_in(trajectory, step, claims) < *claims.until_moved - slack ||
        (*claims.until_moved == 0 && move_in(trajectory, step, claims) == 0))
      return true;
  return false;
}

double error_of_moved(const Trajectory& trajectory, const KmeansClaims& claims) {
  const std::size_t iterations_made = iterations_in(trajectory);
  if (iterations_made == 0) return std::numeric_limits<double>::infinity();
  const double own = move_in(trajectory, iterations_made - 1, claims);
  return own == trajectory.moved ? 0 : std::abs(trajectory.moved - own) / own;  // keeps NaN
}

/// Number of rows that the counts of an iteration miss or contain twice.
double count_missed_rows(const Trajectory& trajectory, const KmeansClaims& claims) {
  double missed = 0;
  for (std::size_t step = 0; step < iterations_in(trajectory); ++step) {
    const std::vector<double>& counts = trajectory.counts[step];
    missed = at_least(missed, std::abs(std::accumulate(counts.begin(), counts.end(), 0.0) -
                                       static_cast<double>(claims.rows)));
  }
  return missed;
}

}  // namespace

KmeansClaims::KmeansClaims(const CaseClaims& claims)
    : TableClaims(claims.settings),
      start(claims.settings.at("start")),
      iterations(std::stoll(claims.settings.at("iterations"))),
      seed(1234 + claims.seed - 1) {
  for (const std::string& number : split(claims.settings.at("clusters"), '+'))
    clusters.push_back(std::stoll(number));
  if (const std::string& part = claims.settings.at("until_moved"); part != "none")
    until_moved = std::stod(part);
}

std::size_t iterations_in(const Trajectory& trajectory) {
  const std::size_t held = trajectory.centroids.empty() ? 0 : trajectory.centroids.size() - 1;
  return std::min({static_cast<std::size_t>(std::max(trajectory.iterations, 0)), held,
                   trajectory.counts.size(), trajectory.inertia.size()});
}

ClaimedStart::ClaimedStart(const KmeansClaims& claims, std::int64_t clusters) {
  std::mt19937_64 random(claims.seed);
  const auto any = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(claims.rows));
  };
  if (claims.start == "kmeans++") {
    rows_ = {any()};
    std::uniform_real_distribution<double> part;
    parts_ = {0};
    while (std::ssize(parts_) < clusters) parts_.push_back(part(random));
    return;
  }
  std::set<std::int64_t> distinct;
  while (std::ssize(rows_) < std::min(clusters, claims.rows))
    if (const std::int64_t row = any(); distinct.insert(row).second) rows_.push_back(row);
}

double wrong_starts(const Trajectory& trajectory, const KmeansClaims& claims, std::int64_t clusters,
                    const DataTable& table, RankCalls& ranks) {
  const std::vector<std::int64_t>& rows = trajectory.start_rows;
  const std::vector<double>& centroids = trajectory.centroids.front();
  const auto d = static_cast<std::size_t>(table.features());
  const auto k = static_cast<std::size_t>(clusters);
  if (rows.size() != k || centroids.size() != k * d) return static_cast<double>(clusters);
  const ClaimedStart expected(claims, clusters);
  double wrong = 0;
  for (std::size_t c = 0; c < std::min(k, expected.rows().size()); ++c)
    wrong += rows[c] != expected.rows()[c];
  throw_on_all(ranks.communicator(), [&] {
    std::vector<double> x(d);
    for (std::size_t c = 0; c < k; ++c) {
      const bool within = rows[c] >= 0 && rows[c] < table.rows();
      if (within) table.read(rows[c], x);
      bool same = within;
      for (std::size_t j = 0; same && j < d; ++j)
        same = round_to(claims.type, x[j]) == centroids[c * d + j];
      wrong += !same;
    }
  });
  return wrong;
}

std::vector<Relation> relations_of_history(const std::vector<const Trajectory*>& claimed,
                                           const KmeansClaims& claims) {
  double shapes = std::abs(static_cast<double>(std::ssize(claimed) - std::ssize(claims.clusters)));
  double passes = 0, stops = 0, moved = 0, missed = 0;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    const Trajectory& trajectory = *claimed[i];
    const std::int64_t clusters = i < claims.clusters.size() ? claims.clusters[i] : 0;
    const auto size = static_cast<std::size_t>(clusters * claims.features);
    for (std::size_t step = 0; step <= iterations_in(trajectory); ++step)
      shapes += trajectory.centroids[step].size() != size;
    passes += static_cast<double>(std::abs(trajectory.passes - trajectory.iterations));
    stops += stops_wrongly(trajectory, claims);
    moved = at_least(moved, error_of_moved(trajectory, claims));
    missed = at_least(missed, count_missed_rows(trajectory, claims));
  }
  return {
      {"clusters", "trajectories, and sets of centroids in them, that the case does not ask for",
       shapes, 0},
      {"stop", "trajectories whose number of iterations is not that of the case's rule", stops, 0},
      {"passes", "difference between iterations and runs of the kernel", passes, 0},
      {"members", "rows that the counts of an iteration miss", missed, 0},
      {"moved", "|moved - own| / own, from the last two sets of centroids", moved,
       error_of_move(claims)}};
}

}  // namespace assay
