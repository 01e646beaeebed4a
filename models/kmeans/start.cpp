#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/measure/rank_failure.hpp"
#include "models/kmeans/kmeans.hpp"

namespace assay {
namespace {

/// One row, rounded as it was loaded. Any rank can read any row.
std::vector<double> read_row(const DataTable& table, std::int64_t row, DataType type) {
  std::vector<double> x(static_cast<std::size_t>(table.features()));
  table.read(row, x);
  for (double& value : x) value = round_to(type, value);
  return x;
}

double distance2(const double* a, const double* b, std::size_t d) {
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

/// The row at which the running sum of `weights` over all ranks passes `part` of the whole.
std::int64_t row_at(double part, const std::vector<double>& weights, RowRange mine,
                    RankCalls& ranks) {
  std::vector<double> totals(static_cast<std::size_t>(ranks.size()));
  double& own = totals[static_cast<std::size_t>(ranks.rank())];
  for (const double weight : weights) own += weight;
  ranks.sum(totals);
  double all = 0, before = 0;
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    if (rank < static_cast<std::size_t>(ranks.rank())) before += totals[rank];
    all += totals[rank];
  }
  const double wanted = part * all;
  // The rank with the row reports it (from 1). By rounding, no rank or two ranks may have it.
  std::vector<double> sums(static_cast<std::size_t>(ranks.size()));
  double running = before;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    running += weights[i];
    if (weights[i] > 0 && running > wanted && before <= wanted) {
      sums[static_cast<std::size_t>(ranks.rank())] =
          static_cast<double>(mine.first + static_cast<std::int64_t>(i) + 1);
      break;
    }
  }
  ranks.sum(sums);
  for (const double row : sums)
    if (row > 0) return static_cast<std::int64_t>(row) - 1;
  return 0;  // all rows are equal
}

std::vector<std::int64_t> plus_plus(const DataTable& table, const RowPass& mine,
                                    const KmeansSettings& settings, RankCalls& ranks) {
  std::mt19937_64 random(settings.seed);
  std::uniform_real_distribution<double> uniform;
  const auto d = static_cast<std::size_t>(table.features());
  std::vector<double> nearest(static_cast<std::size_t>(mine.range.count), INFINITY);
  std::vector<std::int64_t> rows;
  std::int64_t row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(table.rows()));
  for (std::int64_t k = 0; k < settings.clusters; ++k) {
    std::vector<double> centroid;
    throw_on_all(ranks.communicator(), [&] { centroid = read_row(table, row, mine.type); });
    rows.push_back(row);
    if (k + 1 == settings.clusters) break;
    sums_over_ranks(
        table, mine, 0,
        [&](std::int64_t first, std::span<const double> x, std::span<const double>,
            std::span<double>) {
          for (std::size_t i = 0; i < x.size() / d; ++i) {
            double& least = nearest[static_cast<std::size_t>(first) + i];
            least = std::min(least, distance2(&x[i * d], centroid.data(), d));
          }
        },
        ranks);
    row = row_at(uniform(random), nearest, mine.range, ranks);
  }
  return rows;
}

}  // namespace

std::vector<std::int64_t> starting_rows(const DataTable& table, const RowPass& mine,
                                        const KmeansSettings& settings, RankCalls& ranks) {
  if (settings.plus_plus) return plus_plus(table, mine, settings, ranks);
  std::mt19937_64 random(settings.seed);
  std::set<std::int64_t> chosen;
  std::vector<std::int64_t> rows;
  while (std::ssize(rows) < settings.clusters) {
    const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(table.rows()));
    if (chosen.insert(row).second) rows.push_back(row);
  }
  return rows;
}

std::vector<double> centroids_at(const std::vector<std::int64_t>& rows, const DataTable& table,
                                 const RowPass& mine, RankCalls& ranks) {
  std::vector<double> centroids;
  throw_on_all(ranks.communicator(), [&] {
    for (const std::int64_t row : rows) {
      const std::vector<double> centroid = read_row(table, row, mine.type);
      centroids.insert(centroids.end(), centroid.begin(), centroid.end());
    }
  });
  return centroids;
}

}  // namespace assay
