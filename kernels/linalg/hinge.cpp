// The fp64 reference of the hinge objective: all derivatives s, and the sums that use them.
// Clipping adds no error to s, because the clipped function is no steeper than the function before
// clipping (docs/method-linalg.md).

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/place.hpp"
#include "kernels/linalg/device_sums.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"

namespace assay::linalg {
namespace {

using namespace sums;

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
  /// Products with an fp64 value are rounded once more, both by the implementation and by the
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
  Pass(std::int64_t n, std::int64_t d) : s(place(n)), loss_sums(losses), direction(place(d + 1)) {}
  std::vector<Uncertain> s;
  Sums loss_sums, direction;
};

class HingeOracle final : public WholeOracle {
 public:
  explicit HingeOracle(const LinalgProblem& problem)
      : problem_(problem), n_(problem.shape().n), d_(problem.shape().d) {}

  int exact_magnitude(const Execution& execution) const override {
    const auto n = static_cast<double>(n_), d = static_cast<double>(d_);
    const double held = 1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    for (double m = largest_integer; m >= 1; m -= 1) {
      const double margin = 1 + m * (d * m * m + m);  // 1 - y (x w + b)
      if (m * margin <= held && n * margin <= 0x1p53) return static_cast<int>(m);
    }
    return 0;
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    const Pass& pass = this->pass(inputs, execution);
    const Bounds bounds(problem_.precision(), execution, output.type, place(output.elements()));
    const auto n = static_cast<double>(n_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = place(indices[i]);
      const Uncertain number = output.name == "s"        ? pass.s[at]
                               : output.name == "losses" ? pass.loss_sums.sum(at, n)
                                                         : pass.direction.sum(at, n);
      // A value that is clipped beyond all doubt is exactly 0 or 1.
      const bool certain = exact || (output.name == "s" && number.variance == 0);
      expected[i] =
          certain ? Expected{number.value, 0, 0} : bounds.expected(number.value, number.variance);
    }
  }

 private:
  double u(const Execution& execution) const {
    return sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
  }

  const Pass& pass(const Inputs& inputs, const Execution& execution) const {
    std::vector<double> key = fingerprint(problem_.tensors(), inputs);
    key.push_back(u(execution));
    if (key == key_) return *pass_;
    key_.clear();  // until it is complete
    pass_ = std::make_unique<Pass>(n_, d_);
    const Values& x = inputs.find("x")->second;
    const Values& y = inputs.find("y")->second;
    std::vector<double> w(place(d_ + 1));
    inputs.find("w")->second.fill(0, w);
    const Bounds bounds(problem_.precision(), execution, DataType::fp64, place(n_));
    const Derivatives derivatives{inputs.find("slope")->second(0), u(execution), bounds.deviations};
    if (!pass_there(inputs, w, derivatives)) pass_here(x, y, w, derivatives);
    key_ = std::move(key);
    return *pass_;
  }

  /// The numbers, beside the observations, from which derivatives are computed.
  struct Derivatives {
    double slope, u, deviations;
  };
  /// A derivative s, and its product with y.
  struct Factor {
    Uncertain s, with_label;
  };

  void pass_here(const Values& x, const Values& y, const std::vector<double>& w,
                 const Derivatives& derivatives) const {
#pragma omp parallel
    {
      Pass part(0, d_);
      std::vector<double> row(place(d_ + 1), 1);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < n_; ++i) {
        x.fill(i * d_, std::span(row).first(place(d_)));
        double sum = 0, squares = 0;
        for (std::size_t j = 0; j < row.size(); ++j) {
          const double product = row[j] * w[j];
          sum += product;
          squares += square(product);
        }
        const Factor factor = add_losses(sum, squares, y(i), derivatives, part.loss_sums);
        pass_->s[place(i)] = factor.s;
        const auto& [value, variance] = factor.with_label;
        if (value == 0 && variance == 0) continue;
        for (std::size_t j = 0; j < row.size(); ++j)
          part.direction.add(j, value * row[j], variance * square(row[j]));
      }
#pragma omp critical(assay_hinge_reference)
      {
        pass_->loss_sums.add(part.loss_sums);
        pass_->direction.add(part.direction);
      }
    }
  }

  /// The device adds the products of all observations with w and with their derivatives. False if
  /// it cannot.
  bool pass_there(const Inputs& inputs, const std::vector<double>& w,
                  const Derivatives& derivatives) const {
    const Values& y = inputs.find("y")->second;
    std::vector<double> factors{0};  // element 0: the number of the first row
    factors.reserve(place(1 + 2 * n_));
    for (std::int64_t first = 0; first < n_; first += rows_at_once) {
      std::vector<std::int64_t> rows(place(std::min(rows_at_once, n_ - first)));
      std::iota(rows.begin(), rows.end(), first);
      const auto sums =
          sums_there(prover_, {.kind = Products::Kind::margin, .n = n_, .d = d_, .columns = d_ + 1},
                     d_ + 1, {"x"}, inputs, false, rows, w);
      if (!sums) return false;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Factor factor = add_losses((*sums)[i].value, (*sums)[i].squares, y(rows[i]),
                                         derivatives, pass_->loss_sums);
        pass_->s[place(rows[i])] = factor.s;
        factors.push_back(factor.with_label.value);
        factors.push_back(factor.with_label.variance);
      }
    }
    std::vector<std::int64_t> outputs(place(2 * (d_ + 1)));
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
    const auto sums = sums_there(
        prover_, {.kind = Products::Kind::direction, .n = n_, .d = d_, .columns = d_ + 1}, n_,
        {"x"}, inputs, true, outputs, factors);
    if (!sums) {
      pass_->loss_sums = Sums(losses);  // which the host recomputes
      return false;
    }
    for (std::size_t j = 0; j < w.size(); ++j) {
      pass_->direction.values.add(j, (*sums)[j].value);
      pass_->direction.squares[j] = (*sums)[j].squares;
      pass_->direction.variances[j] = (*sums)[w.size() + j].value;
    }
    return true;
  }

  /// Adds an observation to the sums of losses; `sum` and `squares` are those of the products of
  /// (x, 1) and w. z = 1 - y (x w + b) has four steps that round. The roundings of the reference
  /// count as much as those of the implementation.
  Factor add_losses(double sum, double squares, double y, const Derivatives& derivatives,
                    Sums& to) const {
    const double product = y * sum, z = 1 - product,
                 dot = sums::variance_of_sum(static_cast<double>(d_ + 1), false) * squares,
                 of_z = 2 * square(derivatives.u) *
                        (square(y) * (dot + square(sum) / 3) + square(product) / 3 + square(z) / 3);
    const double raw = derivatives.slope * z,
                 variance =
                     square(derivatives.slope) * of_z + 2 * square(derivatives.u) * square(raw) / 3,
                 reach = derivatives.deviations * std::sqrt(variance),
                 s = std::min(std::max(raw, 0.0), 1.0);
    const bool clipped = raw + reach <= 0 || raw - reach >= 1;
    const double of_s = clipped ? 0 : variance;
    // The variance of the term's own rounding.
    const auto rounding = [&](double value) { return square(derivatives.u * value) * 2 / 3; };
    const bool below = z + derivatives.deviations * std::sqrt(of_z) <= 0;
    to.add(0, std::max(z, 0.0), below ? 0 : of_z);
    to.add(1, s, of_s + rounding(s));
    // The errors of s and of z are correlated: both come from x w.
    to.add(2, s * z, 2 * (square(s) * of_z + square(z) * of_s) + rounding(s * z));
    to.add(3, s * s, 4 * square(s) * of_s + rounding(s * s));
    return {{s, of_s}, {s * y, square(y) * of_s + rounding(s * y)}};
  }

  LinalgProblem problem_;
  std::int64_t n_, d_;
  // The result for the last inputs.
  mutable std::vector<double> key_;
  mutable std::unique_ptr<Pass> pass_;
};

}  // namespace

std::unique_ptr<Oracle> make_hinge_oracle(const LinalgProblem& problem) {
  return std::make_unique<HingeOracle>(problem);
}

}  // namespace assay::linalg
