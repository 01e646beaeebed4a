// The fp64 reference of sums over observations with an appended column of ones: moments
// (observations less the shift) and hinge_hessian (selected observations).

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/linalg/device_sums.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/linalg/outer_products.hpp"
#include "kernels/oracle/bounds.hpp"

namespace assay::linalg {
namespace {

using namespace sums;

/// Observations that fp32 may add before their sum is added in fp64.
constexpr double most_in_fp32 = 256;

/// (x - shift, 1)
class Centred final : public Table {
 public:
  Centred(const Values& x, const Values& shift, std::int64_t n, std::int64_t d)
      : Table(n, d + 1), x_(x), shift_(static_cast<std::size_t>(d)) {
    shift.fill(0, shift_);
  }
  void fill(std::int64_t row, std::span<double> out) const override {
    const std::size_t d = shift_.size();
    x_.fill(row * static_cast<std::int64_t>(d), out.first(d));
    for (std::size_t j = 0; j < d; ++j) out[j] -= shift_[j];
    out[d] = 1;
  }
  double at(std::int64_t row, std::int64_t column) const override {
    const std::int64_t d = columns() - 1;
    return column == d ? 1 : x_(row * d + column) - shift_[static_cast<std::size_t>(column)];
  }

 private:
  Values x_;
  std::vector<double> shift_;
};

/// (x, 1) of the observations with 0 < s < 1
class Selected final : public Table {
 public:
  Selected(const Values& x, const Values& s, std::int64_t n, std::int64_t d)
      : Table(n, d + 1), x_(x), s_(s) {}
  bool has(std::int64_t row) const override {
    const double s = s_(row);
    return s > 0 && s < 1;
  }
  void fill(std::int64_t row, std::span<double> out) const override {
    x_.fill(row * (columns() - 1), out.first(out.size() - 1));
    out.back() = 1;
  }
  double at(std::int64_t row, std::int64_t column) const override {
    const std::int64_t d = columns() - 1;
    return column == d ? 1 : x_(row * d + column);
  }

 private:
  Values x_, s_;
};

class MomentsOracle final : public Oracle {
 public:
  explicit MomentsOracle(const LinalgProblem& problem)
      : problem_(problem),
        n_(problem.shape().n),
        d_(problem.shape().d),
        selects_(problem.shape().kernel == LinalgKernel::hinge_hessian) {}

  int exact_magnitude(const Execution& execution) const override {
    if (selects_) return 0;  // no integer lies between 0 and 1
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    // Differences are below 2 m.
    const double most = std::min({largest_entry, std::sqrt(held / std::min(n, most_in_fp32)) / 2,
                                  std::sqrt(0x1p53 / n) / (2 * largest_weight * d)});
    return static_cast<int>(most);
  }

  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t seed) const override {
    if (output.name != "sums") return outer_sample(output.dims[0], n_, budget, seed);
    std::vector<std::int64_t> all(static_cast<std::size_t>(d_));
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<std::int64_t>(j);
    return all;
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    if (indices.size() != expected.size())
      throw std::logic_error("moments oracle: as many indices as places are needed");
    const std::int64_t size = output.dims[0];
    std::vector<std::int64_t> places;  // in the matrix of d + 1 columns
    for (const std::int64_t index : indices)
      places.push_back(output.name == "sums" ? d_ * (d_ + 1) + index
                                             : index / size * (d_ + 1) + index % size);
    const bool wide = problem_.precision() == Precision::fp64;
    const auto there = products_there(inputs, places, wide);
    const std::vector<sums::Terms> terms =
        there ? *there : outer_products(*table(inputs), places, wide);
    const Bounds bounds(problem_.precision(), execution, DataType::fp64, indices.size());
    const double operands = output.name == "sums" ? 1 : 2;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      expected[i] = {terms[i].value, 0, 0};
      if (exact) continue;
      expected[i] = bounds.expected(terms[i].value, variance(terms[i], execution));
      const double by = operands * of_operands(execution) * terms[i].absolute;
      expected[i].max_bound += by;
      expected[i].rms_bound += by;
    }
  }

  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    std::vector<double> u = weights.factors(0), v = u;
    if (output.name == "sums") {
      u.assign(static_cast<std::size_t>(d_), 0);
      u.push_back(1);
    } else {
      v = weights.factors(1);
    }
    u.resize(static_cast<std::size_t>(d_ + 1));
    v.resize(static_cast<std::size_t>(d_ + 1));
    const std::unique_ptr<Table> rows = table(inputs);
    const auto there = sum_weighted_there(prover_, products(), inputs, shift(inputs), u, v,
                                          [&](std::int64_t row) { return rows->has(row); });
    return there ? *there : sum_outer_products(*rows, u, v);
  }

  double widest_norm_bound() const override {
    return sums::widest_norm_bound(problem_.precision());
  }

 private:
  std::unique_ptr<Table> table(const Inputs& inputs) const {
    const Values& x = inputs.find("x")->second;
    if (selects_) return std::make_unique<Selected>(x, inputs.find("s")->second, n_, d_);
    return std::make_unique<Centred>(x, inputs.find("shift")->second, n_, d_);
  }

  std::optional<std::vector<sums::Terms>> products_there(const Inputs& inputs,
                                                         std::span<const std::int64_t> places,
                                                         bool wide) const {
    return sums_there(prover_, products(), n_,
                      selects_ ? std::vector<std::string>{"x", "s"} : std::vector<std::string>{"x"},
                      inputs, wide, places, shift(inputs));
  }
  Products products() const {
    return {.n = n_, .d = d_, .columns = d_ + 1, .shifts = !selects_, .selects = selects_};
  }
  /// The shift that is subtracted from x; empty if there is none.
  std::vector<double> shift(const Inputs& inputs) const {
    std::vector<double> all(selects_ ? 0 : static_cast<std::size_t>(d_));
    if (!selects_) inputs.find("shift")->second.fill(0, all);
    return all;
  }

  double variance(const sums::Terms& terms, const Execution& execution) const {
    const double n = static_cast<double>(n_),
                 u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    // In fp32 the sum of each block drifts to its part of the value.
    const double block = u > u_fp64 ? std::min(n, most_in_fp32) : n;
    const double drift = terms.value * std::sqrt(block / n);
    return square(u) * variance_of_sum(block, terms.squares, drift) +
           square(u_fp64) * variance_of_sum(n, terms.squares, terms.value);
  }

  /// Bound of the relative error of an operand. If the shift has digits below those of x, all
  /// differences may be rounded in one direction, so their errors add up. The roundings of the
  /// reference count as well.
  double of_operands(const Execution& execution) const {
    if (selects_) return 0;
    return execution.operand_roundings.value_or(1) * unit_roundoff(storage(problem_.precision())) +
           u_fp64;
  }

  LinalgProblem problem_;
  std::int64_t n_, d_;
  bool selects_;
};

}  // namespace

std::unique_ptr<Oracle> make_moments_oracle(const LinalgProblem& problem) {
  return std::make_unique<MomentsOracle>(problem);
}

}  // namespace assay::linalg
