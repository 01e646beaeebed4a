// The fp64 reference of single elements of the Gram matrix, and the weighted sum of all of them.
// Bounds: kernels/oracle/sums.hpp, docs/method-linalg.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/linalg/device_sums.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/linalg/outer_products.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay::linalg {
namespace {

/// For more observations than this, the rounding errors of a sequential fp32 sum of squares are no
/// longer independent, because the squares come near the spacing of the sum
/// (docs/method-linalg.md).
constexpr std::int64_t most_fp32 = std::int64_t{1} << 18;

class Observations final : public Table {
 public:
  Observations(const Values& x, std::int64_t n, std::int64_t d) : Table(n, d), x_(x) {}
  void fill(std::int64_t row, std::span<double> out) const override {
    x_.fill(row * columns(), out);
  }
  double at(std::int64_t row, std::int64_t column) const override {
    return x_(row * columns() + column);
  }

 private:
  Values x_;
};

class SyrkOracle final : public Oracle {
 public:
  explicit SyrkOracle(const LinalgProblem& problem) : problem_(problem) {}

  int exact_magnitude(const Execution& execution) const override {
    const auto n = static_cast<double>(problem_.shape().n),
               d = static_cast<double>(problem_.shape().d);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    // The diagonal's products are all positive; the checksum's partial sums are below
    // n (d * weight * m)^2, and are added in fp64.
    const double most = std::min(
        {largest_entry, std::sqrt(held / n), std::sqrt(0x1p53 / n) / (largest_weight * d)});
    return static_cast<int>(most);
  }

  std::vector<std::int64_t> sample(const TensorSpec&, double budget,
                                   std::uint64_t seed) const override {
    return outer_sample(problem_.shape().d, problem_.shape().n, budget, seed);
  }

  void expect(const TensorSpec&, const Inputs& inputs, const Execution& execution, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (indices.size() != expected.size())
      throw std::logic_error("syrk oracle: as many indices as places are needed");
    const std::int64_t d = problem_.shape().d;
    const bool wide = problem_.precision() == Precision::fp64;
    const auto there = sums_there(prover_, {.n = problem_.shape().n, .d = d, .columns = d},
                                  problem_.shape().n, {"x"}, inputs, wide, indices);
    const std::vector<sums::Terms> terms =
        there ? *there : outer_products(observations(inputs), indices, wide);
    const sums::ErrorModel model(problem_.precision(), execution, indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      sums::Terms product = terms[i];
      // Squares do not cancel: their partial sums s k/n add u^2 s^2 n/9 to the variance.
      if (indices[i] / d == indices[i] % d)
        product.squares += 2.0 / 3 * product.value * product.value;
      expected[i] = exact ? Expected{product.value, 0, 0} : model.expected(product);
    }
  }

  std::optional<double> checksum(const TensorSpec&, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const std::vector<double> u = weights.factors(0), v = weights.factors(1);
    const std::int64_t d = problem_.shape().d;
    const auto there = sum_weighted_there(prover_, {.n = problem_.shape().n, .d = d, .columns = d},
                                          inputs, {}, u, v, [](std::int64_t) { return true; });
    return there ? *there : sum_outer_products(observations(inputs), u, v);
  }

  std::optional<std::string> why_unjudgeable(const Execution&) const override {
    if (problem_.precision() != Precision::fp32 || problem_.shape().n <= most_fp32)
      return std::nullopt;
    return fmt::format(
        "no error bound was derived for fp32 sums over {} observations (it holds up to {}). Use "
        "fp64, or fewer observations.",
        problem_.shape().n, most_fp32);
  }

  double widest_norm_bound() const override {
    return sums::widest_norm_bound(problem_.precision());
  }

 private:
  Observations observations(const Inputs& inputs) const {
    return {inputs.find("x")->second, problem_.shape().n, problem_.shape().d};
  }

  LinalgProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> make_syrk_oracle(const LinalgProblem& problem) {
  return std::make_unique<SyrkOracle>(problem);
}

}  // namespace assay::linalg
