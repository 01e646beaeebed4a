// Verification of principal components. For orthonormal V, C = V L V^T holds if C p = V L V^T p
// holds for random p: a wrong element of V or L violates this equation with probability 1. The
// covariance matrix C is never computed: C p = sum (x - mean)((x - mean) . p) / (n - 1).

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/analytics/rows.hpp"
#include "models/pca/pca.hpp"

namespace assay {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

/// The vectors p, as columns: two random vectors, then the first, the last and a random direction.
constexpr Eigen::Index random_probes = 2, probes = 5;

struct Probes {
  Matrix vectors;
  Eigen::Index chosen[probes - random_probes];  ///< the directions among them
};

Probes make_probes(const ConstMap& directions, std::uint64_t seed) {
  const Eigen::Index d = directions.rows();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Probes all{Matrix(d, probes),
             {0, d - 1, static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(d))}};
  for (Eigen::Index i = 0; i < d; ++i)
    for (Eigen::Index p = 0; p < random_probes; ++p) all.vectors(i, p) = normal(random);
  for (Eigen::Index p = random_probes; p < probes; ++p)
    all.vectors.col(p) = directions.row(all.chosen[p - random_probes]).transpose();
  return all;
}

/// Sums over rows, with y = x - mean: y (y . p) for all probes, y, (y . p)^2, and ||y||^2.
struct Sums {
  Matrix products;  ///< [d, probes]
  Eigen::VectorXd deviations, squares;
  double total = 0, rows = 0;
};

Sums sum_rows(const Components& components, const Matrix& vectors, const DataTable& table,
              const RowPass& pass, RankCalls& ranks) {
  const Eigen::Index d = vectors.rows();
  const Eigen::Map<const Eigen::RowVectorXd> mean(components.mean.data(), d);
  const std::vector<double> all = sums_over_ranks(
      table, pass, static_cast<std::size_t>(d * probes + d + probes + 1),
      [&](std::int64_t, std::span<const double> x, std::span<const double>,
          std::span<double> sums) {
        const Matrix rows = ConstMap(x.data(), std::ssize(x) / d, d).rowwise() - mean;
        const Matrix along = rows * vectors;
        double* to = sums.data();
        Eigen::Map<Matrix>(to, d, probes).noalias() += rows.transpose() * along;
        Eigen::Map<Eigen::RowVectorXd>(to + d * probes, d) += rows.colwise().sum();
        Eigen::Map<Eigen::RowVectorXd>(to + d * probes + d, probes) +=
            along.cwiseAbs2().colwise().sum();
        to[d * probes + d + probes] += rows.squaredNorm();
      },
      ranks);
  Sums sums{ConstMap(all.data(), d, probes),
            Eigen::Map<const Eigen::VectorXd>(all.data() + d * probes, d),
            Eigen::Map<const Eigen::VectorXd>(all.data() + d * probes + d, probes),
            all[all.size() - 2], all.back()};
  // The mean is rounded. Sums of squares about the true mean are smaller by n times the square of
  // the mean's error.
  const Eigen::RowVectorXd off = sums.deviations.transpose() * vectors / sums.rows;
  sums.products -= sums.deviations * off;
  sums.squares -= sums.rows * off.transpose().cwiseAbs2();
  sums.total -= sums.deviations.squaredNorm() / sums.rows;
  return sums;
}

double safe(double error) { return std::isfinite(error) ? error : INFINITY; }

/// The mean of the rows that Shift takes.
Eigen::RowVectorXd mean_of_head(const DataTable& table, DataType type, RankCalls& ranks) {
  const std::int64_t d = table.features(),
                     first_rank = (table.rows() + ranks.size() - 1) / ranks.size(),
                     rows = std::min<std::int64_t>(first_rank, 256);
  Matrix head(rows, d);
  throw_on_all(ranks.communicator(), [&] {
    table.read(0, std::span(head.data(), static_cast<std::size_t>(head.size())));
  });
  return head.unaryExpr([&](double value) { return round_to(type, value); }).colwise().mean();
}

/// Sums of squares about the shift contain the variance and the squared distance from the shift to
/// the mean, so their errors are relative to both. `largest`: at most the largest variance.
double part_beyond_variance(const Eigen::RowVectorXd& head, const Eigen::RowVectorXd& mean,
                            double largest) {
  const double beyond = (head - mean).squaredNorm() / largest;
  return std::isfinite(beyond) ? beyond : 0;
}

}  // namespace

double error_of_components(double rows, double features, const Resolution& resolution) {
  const double u = unit_roundoff(DataType::fp64),
               in_fp32 = std::sqrt(std::min(rows, most_rows_in_fp32)) * resolution.roundoff;
  // A factorization of rows adds no squares.
  const double in_fp64 = resolution.of_roots ? 8 * std::sqrt(rows) * u : error_of_sums(rows);
  return 8 * (resolution.roundoff > u ? in_fp32 : 0) + in_fp64 + 8 * resolution.of_operands +
         30 * features * u;
}

Resolution compute_resolution(DataType type, bool of_roots, const Execution& moments) {
  Resolution resolution{type, unit_roundoff(DataType::fp64), of_roots, 0};
  if (of_roots) return resolution;  // rows are converted to fp64 first
  if (moments.accumulate != name(DataType::fp64)) resolution.roundoff = unit_roundoff(type);
  resolution.of_operands = moments.operand_roundings.value_or(1) * unit_roundoff(type);
  return resolution;
}

Resolution compute_claimed_resolution(const CaseClaims& claims, const Execution& moments) {
  return compute_resolution(TableClaims(claims.settings).type,
                            claims.settings.at("algorithm") == "tsqr", moments);
}

Verification verify_components(const Components& components, const TableClaims& claims,
                               const DataTable& table, RowRange mine, const Resolution& resolution,
                               RankCalls& ranks, int threads, std::uint64_t seed,
                               ExpectedMetrics* metrics) {
  const Eigen::Index d = std::ssize(components.variances);
  if (d != claims.features)
    throw WrongResult("the components are not those of the case's features");
  const auto n = static_cast<double>(claims.rows);
  const ConstMap directions(components.directions.data(), d, d);
  const Eigen::Map<const Eigen::VectorXd> variances(components.variances.data(), d);
  const Eigen::Map<const Eigen::VectorXd> mean(components.mean.data(), d);
  const Probes probe = make_probes(directions, seed);
  const Sums sums =
      sum_rows(components, probe.vectors, table, {mine, resolution.type, false, threads}, ranks);

  // A lower bound of the largest variance, from the table and not from the claimed variances, which
  // may be too small. Divided by the trace first, because squares of variances may overflow.
  const double of_probes = ((sums.products / sums.total).colwise().norm().array() /
                            probe.vectors.colwise().norm().array())
                               .maxCoeff() *
                           sums.total / (n - 1);
  double error = error_of_components(n, static_cast<double>(d), resolution);
  if (!resolution.of_roots)
    error *=
        1 + part_beyond_variance(mean_of_head(table, resolution.type, ranks),
                                 mean.transpose() + sums.deviations.transpose() / n, of_probes);
  const double largest = variances[0], rms = std::sqrt(sums.total / n / static_cast<double>(d));
  std::vector<Relation> relations{all_rows(sums.rows, claims.rows)};
  relations.push_back(
      {"mean", "max |mean - sum x / n| / (rms deviation + max |mean|)",
       safe(sums.deviations.cwiseAbs().maxCoeff() / n / (rms + mean.cwiseAbs().maxCoeff())),
       error});
  double residual = 0;
  for (Eigen::Index p = 0; p < probes; ++p) {
    const Eigen::VectorXd v = probe.vectors.col(p);
    const Eigen::VectorXd right =
        directions.transpose() * variances.cwiseProduct(directions * v).eval();
    residual = std::max(
        residual, safe(((sums.products.col(p) / (n - 1) - right) / largest).norm() / v.norm()));
  }
  // A random vector has components along all directions, so the squares of their errors add up.
  relations.push_back({"residual", "max ||C p - V L V^T p|| / (||C|| ||p||)", residual, error});
  relations.push_back(
      {"orthogonality", "max |V^T V - I|",
       safe((directions * directions.transpose() - Matrix::Identity(d, d)).cwiseAbs().maxCoeff()),
       30 * static_cast<double>(d) * unit_roundoff(DataType::fp64)});
  relations.push_back({"trace", "|sum L - trace C| / trace C",
                       safe(std::abs(variances.sum() / (sums.total / (n - 1)) - 1)), error});
  double disorder = 0;
  for (Eigen::Index j = 1; j < d; ++j) disorder += !(variances[j] <= variances[j - 1]);
  relations.push_back({"order", "the number of variances above the one before", disorder, 0});
  if (resolution.of_roots) {
    double roots = 0;
    for (Eigen::Index p = random_probes; p < probes; ++p)
      roots = std::max(roots, safe(std::abs(std::sqrt(sums.squares[p] / (n - 1)) -
                                            std::sqrt(variances[probe.chosen[p - random_probes]])) /
                                   std::sqrt(largest)));
    relations.push_back({"singular values", "max |s - ||X v||| / s_1", roots, error});
  }
  if (metrics != nullptr)
    for (const auto& [name, probe_at] : {std::pair("first_sd", 0), std::pair("last_sd", 1)}) {
      const double variance = sums.squares[random_probes + probe_at] / (n - 1),
                   deviation = std::sqrt(variance), off = error * largest;
      (*metrics)[name] = {deviation,
                          resolution.of_roots ? error * std::sqrt(largest)
                                              : std::min(std::sqrt(off), off / deviation),
                          0};
    }
  Verification checked = make_verification(relations, mine.count * d, "all rows of the table");
  leave_undecided(checked, error, "the first rows are unlike the others. Shuffle the rows");
  return checked;
}

}  // namespace assay
