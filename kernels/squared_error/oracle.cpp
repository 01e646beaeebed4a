// The fp64 reference of the squared error. Bounds: docs/method-training.md.

#include <cmath>
#include <numeric>

#include "core/base/place.hpp"
#include "kernels/oracle/channel_sums.hpp"
#include "kernels/oracle/device_sums.hpp"
#include "kernels/squared_error/formula_items.hpp"
#include "kernels/squared_error/problem.hpp"

namespace assay {
namespace {

using squared_error::Products;
using sums::Approximate;

class SquaredErrorOracle final : public WholeOracle {
 public:
  explicit SquaredErrorOracle(const SquaredErrorProblem& problem) : problem_(problem) {}

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (output.name == "diff_outputs") {
      sums::expect_elements(gradients(output, execution), sums::find_values(names(), inputs),
                            factor(inputs), indices, expected);
      return;
    }
    const sums::Bounds bounds = this->bounds(output, execution);
    const std::vector<Sample>& all = this->samples(inputs);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Sample& sample = all[place(indices[i])];
      expected[i] = bounds.expected(output.name == "losses" ? sample.loss : sample.correlation);
    }
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (output.name != "diff_outputs") return std::nullopt;
    return make_formula(gradients(output, execution), names(), factor(inputs));
  }

 private:
  struct Sample {
    Approximate loss, correlation;
  };
  /// The sum of the squared deviations of a sample's numbers from their mean, and the largest error
  /// of the mean.
  struct Deviations {
    double squares = 0, mean_error = 0;
  };

  static std::vector<std::string> names() { return {"outputs", "targets"}; }

  sums::Bounds bounds(const TensorSpec& output, const Execution& execution) const {
    return {problem_.precision(), execution, output.type, place(output.elements())};
  }
  squared_error::DiffOutputs gradients(const TensorSpec& output, const Execution& execution) const {
    return {bounds(output, execution),
            sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution)};
  }
  /// The table of the gradients.
  std::vector<double> factor(const Inputs& inputs) const {
    const auto [samples, features] = problem_.shape();
    return {2 * inputs.find("scale")->second(0) / static_cast<double>(features) /
            static_cast<double>(samples)};
  }

  /// An error e of a mean adds n e^2 to a sum of squares, and errors e and e' add n e e' to a sum
  /// of products. By Cauchy-Schwarz, the sum of the magnitudes of the products is at most the root
  /// of the product of both sums of squares.
  static Approximate correlation(double n, const Deviations& dx, const Deviations& dt,
                                 double products) {
    if (dx.squares == 0 || dt.squares == 0) return {};
    const double size = std::sqrt(dx.squares) * std::sqrt(dt.squares),
                 of_x = n * sums::square(dx.mean_error) / dx.squares,
                 of_t = n * sums::square(dt.mean_error) / dt.squares;
    return {products / size,
            2 * (n + 8) * sums::u_fp64 + std::sqrt(of_x * of_t) + (of_x + of_t) / 2};
  }

  /// Sums over a sample, computed once for the same inputs.
  const std::vector<Sample>& samples(const Inputs& inputs) const {
    std::vector<double> key = sums::fingerprint(problem_.tensors(), inputs);
    if (key == key_) return samples_;
    const auto samples = place(problem_.shape().samples);
    const auto n = static_cast<double>(problem_.shape().features);
    const std::vector<sums::Terms> of_first = sum(inputs, Products::difference, {});
    std::vector<double> means(2 * samples);
    for (std::size_t i = 0; i < means.size(); ++i)
      means[i] = of_first[(1 + i % 2) * samples + i / 2].value / n;
    const std::vector<sums::Terms> of_second = sum(inputs, Products::output_square, means);
    samples_.resize(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const auto deviations = [&](std::size_t k) {
        return Deviations{of_second[k * samples + i].value,
                          (n + 2) * sums::u_fp64 * of_first[(1 + k) * samples + i].absolute / n};
      };
      const double loss = of_first[i].value / n;
      samples_[i] = {
          {loss, (n + 8) * sums::u_fp64 * loss},
          correlation(n, deviations(0), deviations(1), of_second[2 * samples + i].value)};
    }
    key_ = std::move(key);
    return samples_;
  }

  /// Three kinds of sums from `first` on, [kind, samples]. The device computes them if it has the
  /// code.
  std::vector<sums::Terms> sum(const Inputs& inputs, Products::Kind first,
                               const std::vector<double>& table) const {
    const auto [samples, features] = problem_.shape();
    const Products products{samples, features};
    std::vector<std::int64_t> indices(place(3 * samples));
    std::iota(indices.begin(), indices.end(), first * samples);
    if (prover_ != nullptr)
      if (auto there = sums::sums_of_factors(*prover_, products, features, names(), inputs, true,
                                             indices, table))
        return std::move(*there);
    std::vector<sums::Terms> all(indices.size());
    for (std::int64_t n = 0; n < samples; ++n) {
      const sums::RangeInputs in(sums::find_values(names(), inputs), n * features, features);
      for (std::int64_t at = n; at < 3 * samples; at += samples) {
        sums::Sum sum(true);
        for (std::int64_t feature = 0; feature < features; ++feature) {
          double a = 0, b = 0;
          products.read(in, table.data(), indices[place(at)], feature, a, b);
          sum.add(&a, &b, 1);
        }
        all[place(at)] = sum.terms();
      }
    }
    return all;
  }

  SquaredErrorProblem problem_;
  mutable std::vector<double> key_;
  mutable std::vector<Sample> samples_;
};

}  // namespace

std::unique_ptr<Oracle> make_squared_error_oracle(const SquaredErrorProblem& problem) {
  return std::make_unique<SquaredErrorOracle>(problem);
}

}  // namespace assay
