// The fp64 reference of the squared error. Bounds: docs/method-training.md.

#include <cmath>

#include "core/base/place.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"
#include "kernels/squared_error/problem.hpp"

namespace assay {
namespace {

using sums::Approximate;

class SquaredErrorOracle final : public WholeOracle {
 public:
  explicit SquaredErrorOracle(const SquaredErrorProblem& problem) : problem_(problem) {}

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const auto [samples, features] = problem_.shape();
    const sums::Bounds bounds(problem_.precision(), executed, output.type,
                              place(output.elements()));
    if (output.name != "diff_outputs") {
      const std::vector<Sample>& all = this->samples(inputs);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const Sample& of = all[place(indices[i])];
        expected[i] = bounds.expected(output.name == "losses" ? of.loss : of.correlation);
      }
      return;
    }
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed),
                 by = 2 * inputs.find("scale")->second(0) / static_cast<double>(features) /
                      static_cast<double>(samples);
    std::vector<double> x(place(features)), t(x.size());
    std::int64_t row = -1;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (const std::int64_t n = indices[i] / features; n != row) read(inputs, row = n, x, t);
      const std::size_t f = place(indices[i] % features);
      const double gradient = by * (x[f] - t[f]);
      // The difference, the factor twice, and their product are rounded.
      expected[i] = bounds.expected(Approximate{gradient, 4 * u * std::abs(gradient)});
    }
  }

 private:
  struct Sample {
    Approximate loss, correlation;
  };
  /// Deviations of a sample's numbers from their mean, and how far that may be wrong.
  struct Deviations {
    std::vector<double> of;
    double squares = 0, mean_error = 0;
  };

  static void read(const Inputs& inputs, std::int64_t n, std::vector<double>& x,
                   std::vector<double>& t) {
    const auto features = static_cast<std::int64_t>(x.size());
    inputs.find("outputs")->second.fill(n * features, x);
    inputs.find("targets")->second.fill(n * features, t);
  }

  /// From the first number, so that equal numbers have no deviations.
  static Deviations deviations(const std::vector<double>& values) {
    sums::ColumnSums sum(2);
    for (const double value : values) {
      sum.add(0, value - values[0]);
      sum.add(1, std::abs(value - values[0]));
    }
    const auto n = static_cast<double>(values.size());
    Deviations all;
    all.mean_error = (n + 2) * sums::u_fp64 * sum[1] / n;
    sums::ColumnSums squares(1);
    for (const double value : values) {
      all.of.push_back(value - values[0] - sum[0] / n);
      squares.add(0, all.of.back() * all.of.back());
    }
    all.squares = squares[0];
    return all;
  }

  /// A mean that is wrong by e adds n e^2 to a sum of squares, and n e e' to one of products. By
  /// Cauchy and Schwarz the magnitudes of all products are at most the root of both squares.
  static Approximate correlation(const std::vector<double>& x, const std::vector<double>& t) {
    const Deviations dx = deviations(x), dt = deviations(t);
    if (dx.squares == 0 || dt.squares == 0) return {};
    sums::ColumnSums products(1);
    for (std::size_t f = 0; f < x.size(); ++f) products.add(0, dx.of[f] * dt.of[f]);
    const auto n = static_cast<double>(x.size());
    const double size = std::sqrt(dx.squares) * std::sqrt(dt.squares),
                 of_x = n * sums::square(dx.mean_error) / dx.squares,
                 of_t = n * sums::square(dt.mean_error) / dt.squares;
    return {products[0] / size,
            2 * (n + 8) * sums::u_fp64 + std::sqrt(of_x * of_t) + (of_x + of_t) / 2};
  }

  /// Sums over a sample, which are made once for the same inputs.
  const std::vector<Sample>& samples(const Inputs& inputs) const {
    std::vector<double> key = sums::fingerprint(problem_.tensors(), inputs);
    if (key == key_) return samples_;
    samples_.assign(place(problem_.shape().samples), {});
    std::vector<double> x(place(problem_.shape().features)), t(x.size());
    const auto count = static_cast<double>(x.size());
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      read(inputs, static_cast<std::int64_t>(n), x, t);
      sums::ColumnSums squares(1);
      for (std::size_t f = 0; f < x.size(); ++f) squares.add(0, sums::square(x[f] - t[f]));
      const double loss = squares[0] / count;
      samples_[n] = {{loss, (count + 8) * sums::u_fp64 * loss}, correlation(x, t)};
    }
    key_ = std::move(key);
    return samples_;
  }

  SquaredErrorProblem problem_;
  mutable std::vector<double> key_;
  mutable std::vector<Sample> samples_;
};

}  // namespace

std::unique_ptr<Oracle> squared_error_oracle(const SquaredErrorProblem& problem) {
  return std::make_unique<SquaredErrorOracle>(problem);
}

}  // namespace assay
