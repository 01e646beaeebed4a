// The fp64 reference of single elements of the Gram matrix, and the weighted sum of all of them.
// Observations are read in blocks, so that a table of any length needs little memory. Bounds:
// kernels/conv/sums.hpp, docs/method-linalg.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/conv/sampling.hpp"
#include "kernels/conv/sums.hpp"
#include "kernels/linalg/oracles.hpp"

namespace assay::linalg {
namespace {

/// Observations that are held at once.
constexpr std::int64_t block_rows = 4096;
/// Largest magnitude of integers: sums of many products stay exact.
constexpr double largest_integer = 16;
/// Observations above which the rounding errors of a sequential fp32 sum of squares are no longer
/// independent: squares come near the spacing of the sum (docs/method-linalg.md).
constexpr std::int64_t most_fp32 = std::int64_t{1} << 18;
/// Largest factor of a checksum's weights (core/api/checksum_weights.hpp).
constexpr double largest_weight = 8;

/// Calls `body(first, rows)` for all blocks of n observations.
template <class Body>
void for_blocks(std::int64_t n, Body body) {
  for (std::int64_t first = 0; first < n; first += block_rows)
    body(first, std::min(block_rows, n - first));
}

class SyrkOracle final : public Oracle {
 public:
  explicit SyrkOracle(const LinalgProblem& problem) : problem_(problem) {}

  int exact_magnitude(const Executed& executed) const override {
    const auto n = static_cast<double>(problem_.shape().n),
               d = static_cast<double>(problem_.shape().d);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
    // The diagonal's products are all positive; the checksum's partial sums are below
    // n (d * weight * m)^2, and are added in fp64.
    const double most = std::min(
        {largest_integer, std::sqrt(held / n), std::sqrt(0x1p53 / n) / (largest_weight * d)});
    return static_cast<int>(most);
  }

  int full_magnitude(const TensorSpec&) const override { return 0; }  // there is no integer type

  std::vector<std::int64_t> sample(const TensorSpec&, double budget,
                                   std::uint64_t seed) const override {
    const std::int64_t d = problem_.shape().d;
    sampling::Marks marks(d);
    for (const std::int64_t size : {4, 6, 8, 16, 32, 64, 128, 256}) marks.add_blocks(size);
    const std::vector<std::int64_t> at = marks.take();
    return sampling::chosen_elements({d, d}, {at, at}, static_cast<double>(problem_.shape().n),
                                     budget, seed);
  }

  void expect(const TensorSpec&, const Inputs& inputs, const Executed& executed, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (indices.size() != expected.size())
      throw std::logic_error("syrk oracle: as many indices as places are needed");
    const std::int64_t d = problem_.shape().d;
    const std::vector<sums::Terms> terms = elements(inputs.find("x")->second, indices);
    const sums::ErrorModel model(problem_.precision(), executed, indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      sums::Terms of = terms[i];
      // Squares do not cancel: their partial sums s k/n add u^2 s^2 n/9 to the variance.
      if (indices[i] / d == indices[i] % d) of.squares += 2.0 / 3 * of.value * of.value;
      expected[i] = exact ? Expected{of.value, 0, 0} : model.expected(of);
    }
  }

  std::optional<double> checksum(const TensorSpec&, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const auto d = static_cast<std::size_t>(problem_.shape().d);
    const Values& x = inputs.find("x")->second;
    const std::vector<double> u = weights.factors(0), v = weights.factors(1);
    double total = 0;
    // u^T x^T x v = (x u) . (x v): no element of c is ever computed.
#pragma omp parallel
    {
      std::vector<double> row(d);
#pragma omp for reduction(+ : total)
      for (std::int64_t r = 0; r < problem_.shape().n; ++r) {
        x.fill(r * problem_.shape().d, row);
        double left = 0, right = 0;
        for (std::size_t j = 0; j < d; ++j) {
          left += row[j] * u[j];
          right += row[j] * v[j];
        }
        total += left * right;
      }
    }
    return total;
  }

  std::optional<std::string> cannot_judge(const Executed&) const override {
    if (problem_.precision() != Precision::fp32 || problem_.shape().n <= most_fp32)
      return std::nullopt;
    return fmt::format(
        "no error bound was derived for fp32 sums over {} observations (it holds up to {}). Use "
        "fp64, or fewer observations.",
        problem_.shape().n, most_fp32);
  }

  double widest_norm_bound() const override {
    return problem_.precision() == Precision::fp32 ? sums::error_of_tf32
                                                   : std::numeric_limits<double>::infinity();
  }

 private:
  /// The sums of products of the elements `indices`.
  std::vector<sums::Terms> elements(const Values& x, std::span<const std::int64_t> indices) const {
    const std::int64_t d = problem_.shape().d;
    std::vector<std::int64_t> features;  // that the elements need, in columns of their own
    for (const std::int64_t index : indices) {
      features.push_back(index / d);
      features.push_back(index % d);
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    const auto column_of = [&](std::int64_t feature) {
      return static_cast<std::size_t>(std::lower_bound(features.begin(), features.end(), feature) -
                                      features.begin());
    };
    std::vector<sums::Sum> sums(indices.size(), sums::Sum(problem_.precision() == Precision::fp64));
    std::vector<double> columns(features.size() * static_cast<std::size_t>(block_rows));
    for_blocks(problem_.shape().n, [&](std::int64_t first, std::int64_t rows) {
      read(x, first, rows, features, columns);
#pragma omp parallel for schedule(dynamic, 16)
      for (std::size_t i = 0; i < indices.size(); ++i)
        sums[i].add(&columns[column_of(indices[i] / d) * block_rows],
                    &columns[column_of(indices[i] % d) * block_rows], rows);
    });
    std::vector<sums::Terms> terms;
    for (const sums::Sum& sum : sums) terms.push_back(sum.terms());
    return terms;
  }

  /// `columns[f * block_rows + r]`: feature features[f] of observation first + r.
  void read(const Values& x, std::int64_t first, std::int64_t rows,
            const std::vector<std::int64_t>& features, std::vector<double>& columns) const {
    const std::int64_t d = problem_.shape().d;
    // Single values cost about as much as eight that lie together.
    const bool whole_rows = static_cast<std::int64_t>(features.size()) * 8 > d;
#pragma omp parallel
    {
      std::vector<double> row(whole_rows ? static_cast<std::size_t>(d) : 0);
#pragma omp for
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (first + r) * d;
        if (whole_rows) x.fill(at, row);
        for (std::size_t f = 0; f < features.size(); ++f)
          columns[f * block_rows + static_cast<std::size_t>(r)] =
              whole_rows ? row[static_cast<std::size_t>(features[f])] : x(at + features[f]);
      }
    }
  }

  LinalgProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> syrk_oracle(const LinalgProblem& problem) {
  return std::make_unique<SyrkOracle>(problem);
}

}  // namespace assay::linalg
