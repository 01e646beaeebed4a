// The fp64 reference of the hinge objective: all derivatives s, and what is summed of them. s is
// clipped, which is no steeper than what is clipped (docs/method-linalg.md).

#include <algorithm>
#include <cmath>

#include "core/base/place.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"

namespace assay::linalg {
namespace {

using namespace sums;

/// Largest magnitude of integers.
constexpr double largest_integer = 16;
constexpr std::size_t losses = 4;

/// A number and the variance of its rounding errors.
struct Uncertain {
  double value = 0, variance = 0;
};

/// Sums of n uncertain terms in fp64.
struct Sums {
  explicit Sums(std::size_t columns) : values(columns), variances(columns), squares(columns) {}
  void add(std::size_t column, double value, double variance) {
    values.add(column, value);
    variances[column] += variance;
    squares[column] += square(value);
  }
  void add(const Sums& other) {
    values.add(other.values);
    for (std::size_t j = 0; j < squares.size(); ++j) {
      variances[j] += other.variances[j];
      squares[j] += other.squares[j];
    }
  }
  /// Products with a value of fp64 are rounded once more, by the implementation and by the
  /// reference.
  Uncertain sum(std::size_t column, double n) const {
    const double value = values[column];
    return {value,
            variances[column] +
                square(u_fp64) * (variance_of_sum(n, squares[column], value) + squares[column])};
  }
  ColumnSums values;
  std::vector<double> variances, squares;
};

struct Pass {
  Pass(std::int64_t n, std::int64_t d) : s(place(n)), losses_of(losses), direction(place(d + 1)) {}
  std::vector<Uncertain> s;
  Sums losses_of, direction;
};

class HingeOracle final : public WholeOracle {
 public:
  explicit HingeOracle(const LinalgProblem& problem)
      : problem_(problem), n_(problem.shape().n), d_(problem.shape().d) {}

  int exact_magnitude(const Executed& executed) const override {
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
    for (double m = largest_integer; m >= 1; m -= 1) {
      const double margin = 1 + m * (d * m * m + m);  // 1 - y (x w + b)
      if (m * margin <= held && n * margin <= 0x1p53) return static_cast<int>(m);
    }
    return 0;
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Pass& pass = this->pass(inputs, executed);
    const Bounds bounds(problem_.precision(), executed, output.type, place(output.elements()));
    const auto n = static_cast<double>(n_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = place(indices[i]);
      const Uncertain of = output.name == "s"        ? pass.s[at]
                           : output.name == "losses" ? pass.losses_of.sum(at, n)
                                                     : pass.direction.sum(at, n);
      // A value that is clipped beyond all doubt is exactly 0 or 1.
      const bool certain = exact || (output.name == "s" && of.variance == 0);
      expected[i] = certain ? Expected{of.value, 0, 0} : bounds.expected(of.value, of.variance);
    }
  }

 private:
  double u(const Executed& executed) const {
    return sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
  }

  const Pass& pass(const Inputs& inputs, const Executed& executed) const {
    std::vector<double> key = fingerprint(problem_.tensors(), inputs);
    key.push_back(u(executed));
    if (pass_ && key == key_) return *pass_;
    key_ = std::move(key);
    pass_ = std::make_unique<Pass>(n_, d_);
    const Values& x = inputs.find("x")->second;
    const Values& y = inputs.find("y")->second;
    const double slope = inputs.find("slope")->second(0);
    std::vector<double> w(place(d_ + 1));
    inputs.find("w")->second.fill(0, w);
    const Bounds bounds(problem_.precision(), executed, DataType::fp64, place(n_));
#pragma omp parallel
    {
      Pass part(0, d_);
      std::vector<double> row(place(d_ + 1), 1);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < n_; ++i) {
        x.fill(i * d_, std::span(row).first(place(d_)));
        const double label = y(i);
        const Uncertain z = margin(row, w, label, u(executed));
        pass_->s[place(i)] = add(row, label, z, slope, u(executed), bounds.deviations, part);
      }
#pragma omp critical(assay_hinge_reference)
      {
        pass_->losses_of.add(part.losses_of);
        pass_->direction.add(part.direction);
      }
    }
    return *pass_;
  }

  /// 1 - y (x w + b), whose four steps round; those of the reference count as much.
  static Uncertain margin(const std::vector<double>& row, const std::vector<double>& w, double y,
                          double u) {
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double product = row[j] * w[j];
      sum += product;
      squares += square(product);
    }
    const double product = y * sum, z = 1 - product;
    const double dot = sums::variance_of_sum(static_cast<double>(row.size()), false) * squares;
    return {z, 2 * square(u) *
                   (square(y) * (dot + square(sum) / 3) + square(product) / 3 + square(z) / 3)};
  }

  /// Adds an observation to all sums; its s.
  static Uncertain add(const std::vector<double>& row, double y, const Uncertain& z, double slope,
                       double u, double deviations, Pass& part) {
    const double raw = slope * z.value,
                 variance = square(slope) * z.variance + 2 * square(u) * square(raw) / 3,
                 reach = deviations * std::sqrt(variance), s = std::min(std::max(raw, 0.0), 1.0);
    const bool clipped = raw + reach <= 0 || raw - reach >= 1;
    const double of_s = clipped ? 0 : variance;
    // The variance of the term's own rounding.
    const auto rounding = [u](double value) { return square(u * value) * 2 / 3; };
    const bool below = z.value + deviations * std::sqrt(z.variance) <= 0;
    part.losses_of.add(0, std::max(z.value, 0.0), below ? 0 : z.variance);
    part.losses_of.add(1, s, of_s + rounding(s));
    // The errors of s and of z have one cause.
    part.losses_of.add(
        2, s * z.value,
        2 * (square(s) * z.variance + square(z.value) * of_s) + rounding(s * z.value));
    part.losses_of.add(3, s * s, 4 * square(s) * of_s + rounding(s * s));
    const double factor = s * y, of_factor = square(y) * of_s + rounding(factor);
    if (factor == 0 && of_factor == 0) return {s, of_s};
    for (std::size_t j = 0; j < row.size(); ++j)
      part.direction.add(j, factor * row[j], of_factor * square(row[j]));
    return {s, of_s};
  }

  LinalgProblem problem_;
  std::int64_t n_, d_;
  // The result for the last inputs.
  mutable std::vector<double> key_;
  mutable std::unique_ptr<Pass> pass_;
};

}  // namespace

std::unique_ptr<Oracle> hinge_oracle(const LinalgProblem& problem) {
  return std::make_unique<HingeOracle>(problem);
}

}  // namespace assay::linalg
