// The fp64 reference of an assignment to centroids: all labels, and the sums over the observations
// of each label. An observation is uncertain if rounding errors may change its nearest centroid. It
// then widens the bounds of all sums to which it may belong (docs/method-linalg.md).

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/place.hpp"
#include "kernels/linalg/device_sums.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"

namespace assay::linalg {
namespace {

using namespace sums;

/// Largest magnitude of integers. It is small, so that observations are often equally near to two
/// centroids.
constexpr double largest_coordinate = 2;
/// Scores that the device sends at once.
constexpr std::int64_t scores_at_once = std::int64_t{1} << 20;

/// The result of a pass over all observations.
struct Assignment {
  Assignment(std::int64_t n, std::int64_t d, std::int64_t k)
      : first(place(n)),
        last(place(n)),
        sums(place(k * d)),
        squares(place(k * d)),
        doubt(place(k * d)),
        counts(place(k)),
        doubtful(place(k)),
        inertia(1) {}

  std::vector<std::int32_t> first, last;  ///< the first and the last label that an observation may
                                          ///< have
  ColumnSums sums;
  std::vector<double> squares, doubt;    ///< of the certain terms; of the terms of uncertain
                                         ///< observations
  std::vector<double> counts, doubtful;  ///< numbers of observations; of uncertain observations
  ColumnSums inertia;
  double inertia_squares = 0, inertia_doubt = 0;
};

/// Adds all members but the labels.
void add(Assignment& to, const Assignment& part) {
  const auto all = [](std::vector<double>& into, const std::vector<double>& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
  };
  to.sums.add(part.sums);
  to.inertia.add(part.inertia);
  all(to.squares, part.squares);
  all(to.doubt, part.doubt);
  all(to.counts, part.counts);
  all(to.doubtful, part.doubtful);
  to.inertia_squares += part.inertia_squares;
  to.inertia_doubt += part.inertia_doubt;
}

/// The centroids, and the parts of a score's error that depend on them.
struct Centroids {
  Centroids(const Values& values, std::int64_t d, std::int64_t k)
      : rows(place(k * d)), columns(place(k * d)), half_norms(place(k)), largest(place(k)) {
    values.fill(0, rows);
    const std::size_t features = place(d), count = place(k);
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t j = 0; j < features; ++j) {
        const double value = rows[c * features + j];
        columns[j * count + c] = value;
        half_norms[c] += square(value) / 2;
        largest[c] = std::max(largest[c], std::abs(value));
      }
  }
  std::vector<double> rows, columns;
  std::vector<double> half_norms, largest;
};

class KmeansAssignOracle final : public WholeOracle {
 public:
  explicit KmeansAssignOracle(const LinalgProblem& problem)
      : problem_(problem), n_(problem.shape().n), d_(problem.shape().d), k_(problem.shape().k) {}

  int exact_magnitude(const Execution& execution) const override {
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    // Squared distances are below d (2 m)^2, and are added in fp64.
    return static_cast<int>(
        std::min({largest_coordinate, std::sqrt(held / d) / 2, std::sqrt(0x1p53 / (n * d)) / 2}));
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    const Assignment& all = assignment(inputs, execution, exact);
    const Bounds bounds(problem_.precision(), execution, DataType::fp64, place(output.elements()));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = place(indices[i]);
      if (output.name == "labels") {
        const double low = all.first[at], high = all.last[at];
        expected[i] = {(low + high) / 2, (high - low) / 2, (high - low) / 2};
      } else if (output.name == "counts") {
        expected[i] = {all.counts[at], all.doubtful[at], all.doubtful[at]};
      } else if (exact) {
        expected[i] = {output.name == "sums" ? all.sums[at] : all.inertia[0], 0, 0};
      } else if (output.name == "sums") {
        const double count = all.counts[at / place(d_)], value = all.sums[at];
        expected[i] =
            bounds.expected(value, square(u_fp64) * variance_of_sum(count, all.squares[at], value));
        widen(expected[i], all.doubt[at]);
      } else {
        expected[i] = bounds.expected(all.inertia[0], inertia_variance(all, execution));
        widen(expected[i], all.inertia_doubt);
      }
    }
  }

 private:
  static void widen(Expected& expected, double by) {
    expected.max_bound += by;
    expected.rms_bound += by;
  }

  double u(const Execution& execution) const {
    return sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
  }

  /// The variance of the inertia. Each of its terms is a sum of d squares of differences, which the
  /// implementation and this reference round once; then n of these sums are added in fp64.
  double inertia_variance(const Assignment& all, const Execution& execution) const {
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    return 2 * square(u(execution)) * (d / 9 + 2) * all.inertia_squares +
           square(u_fp64) * variance_of_sum(n, all.inertia_squares, all.inertia[0]);
  }

  const Assignment& assignment(const Inputs& inputs, const Execution& execution, bool exact) const {
    std::vector<double> key = fingerprint(problem_.tensors(), inputs);
    key.push_back(exact ? 1 : 0);
    key.push_back(u(execution));
    if (key == key_) return *assignment_;
    key_.clear();  // until it is complete
    assignment_ = std::make_unique<Assignment>(n_, d_, k_);
    const Values& x = inputs.find("x")->second;
    const Centroids centroids(inputs.find("centroids")->second, d_, k_);
    const Bounds bounds(problem_.precision(), execution, DataType::fp64, place(n_ * k_));
    const double deviations = exact ? 0 : bounds.deviations * u(execution);
    if (!assign_there(inputs, centroids, deviations)) assign_here(x, centroids, deviations);
    key_ = std::move(key);
    return *assignment_;
  }

  void assign_here(const Values& x, const Centroids& centroids, double deviations) const {
#pragma omp parallel
    {
      Assignment part(0, d_, k_);
      std::vector<double> row(place(d_)), scores(place(k_)), errors(place(k_));
      const std::size_t k = scores.size();
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < n_; ++i) {
        x.fill(i * d_, row);
        std::fill(scores.begin(), scores.end(), 0.0);
        double squares = 0;
        for (std::size_t j = 0; j < row.size(); ++j) {
          const double* const column = &centroids.columns[j * k];
          for (std::size_t c = 0; c < k; ++c) scores[c] += row[j] * column[c];
          squares += square(row[j]);
        }
        score(centroids, squares, deviations, scores, errors);
        add_row(centroids, row, assign(x, scores, errors, i, part), part);
      }
#pragma omp critical(assay_kmeans_reference)
      add(*assignment_, part);
    }
  }

  /// Adds the parts of an observation that do not depend on its uncertainty.
  void add_row(const Centroids& centroids, const std::vector<double>& row, std::size_t best,
               Assignment& part) const {
    const std::size_t d = row.size();
    part.sums.add(best * d, row.data(), d);
    double distance = 0;
    for (std::size_t j = 0; j < d; ++j) {
      part.squares[best * d + j] += square(row[j]);
      distance += square(row[j] - centroids.rows[best * d + j]);
    }
    part.inertia.add(0, distance);
    part.inertia_squares += square(distance);
  }

  /// The device adds the products of all observations with the centroids, their squared distances,
  /// and the observations of each centroid. False if it cannot: the host then starts again.
  bool assign_there(const Inputs& inputs, const Centroids& centroids, double deviations) const {
    const Values& x = inputs.find("x")->second;
    const auto sums = [&](Products::Kind quantity, std::int64_t terms, std::int64_t first,
                          std::int64_t outputs, const std::vector<double>& table) {
      std::vector<std::int64_t> indices(place(outputs));
      std::iota(indices.begin(), indices.end(), first);
      return sums_there(prover_, {.kind = quantity, .n = n_, .d = d_, .k = k_, .columns = d_},
                        terms, {"x"}, inputs, quantity == Products::Kind::members, indices, table);
    };
    Assignment all(0, d_, k_);
    std::vector<double> labels, scores(place(k_)), errors(place(k_));
    const std::int64_t at_once = std::max<std::int64_t>(scores_at_once / (k_ + 1), 1);
    for (std::int64_t first = 0; first < n_; first += at_once) {
      const std::int64_t rows = std::min(at_once, n_ - first), each = k_ + 1;
      const auto products =
          sums(Products::Kind::scores, d_, first * each, rows * each, centroids.rows);
      if (!products) return false;
      std::vector<double> table = centroids.rows;
      table.push_back(static_cast<double>(first));
      for (std::int64_t row = 0; row < rows; ++row) {
        const Terms* const of_row = products->data() + row * each;
        for (std::size_t c = 0; c < scores.size(); ++c) scores[c] = of_row[c].value;
        score(centroids, of_row[k_].value, deviations, scores, errors);
        table.push_back(static_cast<double>(assign(x, scores, errors, first + row, all)));
      }
      labels.insert(labels.end(), table.end() - rows, table.end());
      const auto distances = sums(Products::Kind::distance, d_, first, rows, table);
      if (!distances) return false;
      for (const Terms& distance : *distances) {
        all.inertia.add(0, distance.value);
        all.inertia_squares += square(distance.value);
      }
    }
    const auto members = sums(Products::Kind::members, n_, 0, k_ * d_, labels);
    for (std::size_t i = 0; members && i < members->size(); ++i) {
      all.sums.add(i, (*members)[i].value);
      all.squares[i] = (*members)[i].squares;
    }
    if (members) add(*assignment_, all);
    return members.has_value();
  }

  /// Computes scores and their error bounds from the products x . c and the sum of the squares of
  /// x. A score is half of the squared distance to the centroid less that to 0: ||c||^2 / 2 - x .
  /// c. Its error has three parts: the sum of products, the norm, and their difference. The
  /// reference's own errors count as much as the implementation's.
  void score(const Centroids& centroids, double squares, double deviations,
             std::vector<double>& scores, std::vector<double>& errors) const {
    const auto d = static_cast<double>(d_);
    const std::size_t k = scores.size();
    for (std::size_t c = 0; c < k; ++c) {
      const double norm = centroids.half_norms[c];
      scores[c] = norm - scores[c];
      errors[c] =
          deviations *
          std::sqrt(2 * (sums::variance_of_sum(d, false) * squares * square(centroids.largest[c]) +
                         (d / 9 + 2) * square(norm) + square(scores[c]) / 3));
    }
  }

  /// Returns the label of an observation. Adds the observation to the counts, and to the doubts if
  /// it is uncertain.
  std::size_t assign(const Values& x, const std::vector<double>& scores,
                     const std::vector<double>& errors, std::int64_t i, Assignment& part) const {
    const std::size_t k = scores.size(), d = place(d_);
    const std::size_t best = place(std::min_element(scores.begin(), scores.end()) - scores.begin());
    double limit = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < k; ++c) limit = std::min(limit, scores[c] + errors[c]);
    const auto may_win = [&](std::size_t c) { return c == best || scores[c] - errors[c] < limit; };
    std::size_t first = best, last = best;
    double most = scores[best];
    for (std::size_t c = 0; c < k; ++c) {
      if (!may_win(c)) continue;
      first = std::min(first, c);
      last = std::max(last, c);
      most = std::max(most, scores[c]);
    }
    assignment_->first[place(i)] = static_cast<std::int32_t>(first);
    assignment_->last[place(i)] = static_cast<std::int32_t>(last);
    part.counts[best] += 1;
    if (first == last) return best;
    part.inertia_doubt += 2 * (most - scores[best]);
    std::vector<double> row(d);
    x.fill(i * d_, row);
    for (std::size_t c = first; c <= last; ++c) {
      if (!may_win(c)) continue;
      part.doubtful[c] += 1;
      for (std::size_t j = 0; j < d; ++j) part.doubt[c * d + j] += std::abs(row[j]);
    }
    return best;
  }

  LinalgProblem problem_;
  std::int64_t n_, d_, k_;
  // The result for the last inputs.
  mutable std::vector<double> key_;
  mutable std::unique_ptr<Assignment> assignment_;
};

}  // namespace

std::unique_ptr<Oracle> make_kmeans_assign_oracle(const LinalgProblem& problem) {
  return std::make_unique<KmeansAssignOracle>(problem);
}

}  // namespace assay::linalg
