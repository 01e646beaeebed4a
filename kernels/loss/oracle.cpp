// The fp64 reference of a loss, sample by sample. Bounds: docs/method-training.md.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/loss/problem.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"

namespace assay {
namespace {

using sums::Approximate;

/// Units in the last place that an implementation's exp and log may be wrong by.
constexpr double of_functions = 8;

/// One sample.
struct Sample {
  Approximate loss;
  Approximate correct;
  std::vector<Approximate> gradient;  ///< of its logits
};

class LossOracle final : public WholeOracle {
 public:
  explicit LossOracle(const LossProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  /// Labels.
  int full_magnitude(const TensorSpec& argument) const override {
    return argument.type == DataType::s32 ? static_cast<int>(problem_.shape().classes - 1) : 0;
  }
  bool nonnegative(const TensorSpec& argument) const override { return argument.name == "labels"; }

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const std::vector<Sample>& samples = this->samples(inputs, executed);
    const sums::Bounds bounds(problem_.precision(), executed, output.type,
                              place(output.elements()));
    const auto classes = place(problem_.shape().classes);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = place(indices[i]);
      if (output.name == "correct") {
        const Approximate& of = samples[at].correct;
        expected[i] = {of.value, of.error, of.error};
        continue;
      }
      const Approximate of = output.name == "losses" ? samples[at].loss
                             : output.name == "diff_bias"
                                 ? of_class(at, executed)
                                 : samples[at / classes].gradient[at % classes];
      expected[i] = bounds.expected(of);
    }
  }

 private:
  double roundoff(const Executed& executed) const {
    return sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
  }

  Approximate of_class(std::size_t c, const Executed& executed) const {
    Approximate sum;
    double absolute = 0;
    for (const Sample& sample : samples_) {
      sum.value += sample.gradient[c].value;
      sum.error += sample.gradient[c].error;
      absolute += std::abs(sample.gradient[c].value);
    }
    sum.error += static_cast<double>(samples_.size()) * roundoff(executed) * absolute;
    return sum;
  }

  const std::vector<Sample>& samples(const Inputs& inputs, const Executed& executed) const {
    std::vector<double> key = sums::fingerprint(tensors_, inputs);
    key.push_back(roundoff(executed));
    if (key == key_) return samples_;
    const auto classes = place(problem_.shape().classes);
    std::vector<double> bias(classes), logits(classes);
    if (problem_.shape().biased) inputs.find("bias")->second.fill(0, bias);
    const bool training = problem_.pass() == LossPass::training;
    const double factor = training ? inputs.find("scale")->second(0) : 0;
    samples_.clear();
    for (std::int64_t n = 0; n < problem_.shape().samples; ++n) {
      inputs.find("logits")->second.fill(n * problem_.shape().classes, logits);
      samples_.push_back(
          of(logits, bias, inputs.find("labels")->second(n), factor, roundoff(executed)));
    }
    key_ = std::move(key);
    return samples_;
  }

  /// x = logit + bias is rounded once; exp's argument x - largest once more, which changes exp by
  /// as much as it is wrong by. Sums over classes have positive terms: their relative error is that
  /// of a term, and of the additions.
  Sample of(const std::vector<double>& logits, const std::vector<double>& bias, double label,
            double factor, double u) const {
    const auto [count, classes, smoothing, biased] = problem_.shape();
    const auto c = static_cast<double>(classes), e = smoothing;
    if (!(label >= 0 && label < c)) throw std::invalid_argument("a label is not a valid class");
    const auto y = static_cast<std::size_t>(label);
    std::vector<double> x(logits.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = logits[i] + bias[i];
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0, total = 0, magnitude = 0, spread = 0;
    for (const double value : x) {
      sum += std::exp(value - largest);
      total += value;
      magnitude = std::max(magnitude, std::abs(value));
      spread = std::max(spread, largest - value);
    }
    const double log_sum = largest + std::log(sum);
    // The relative error of one exponential.
    const auto of_exp = [&](double value) {
      return u * (of_functions + 2 * magnitude + (largest - value));
    };
    // Terms far below the largest have larger errors, but less of the sum.
    const double of_sum = of_exp(largest - 1 - std::log(c)) + (c + 1) * u / 2;
    Sample sample;
    sample.loss.value = log_sum - (1 - e) * x[y] - e * total / c;
    sample.loss.error = of_sum + u * (of_functions * std::log(c + 1) + 6 * magnitude + 2 * spread) +
                        e * u * (c / 2 + 2) * magnitude;
    sample.correct = correct(x, y, 2 * u * magnitude);
    if (problem_.pass() == LossPass::validation) return sample;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double p = std::exp(x[i] - largest) / sum, q = (i == y ? 1 - e : 0) + e / c,
                   by = factor / static_cast<double>(count);
      sample.gradient.push_back(
          {by * (p - q), std::abs(by) * (p * (of_exp(x[i]) + of_sum + 2 * u) + 4 * u * (p + q))});
    }
    return sample;
  }

  /// Either answer is right if sums of logit and bias are closer than their roundings.
  static Approximate correct(const std::vector<double>& x, std::size_t y, double tolerance) {
    bool right = true, doubtful = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i == y) continue;
      if (i < y ? x[i] >= x[y] : x[i] > x[y]) right = false;
      if (x[i] > x[y] + tolerance) return {0, 0};
      if (x[i] > x[y] - tolerance) doubtful = true;
    }
    return {right ? 1.0 : 0.0, doubtful ? 1.0 : 0.0};
  }

  LossProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable std::vector<Sample> samples_;
};

}  // namespace

std::unique_ptr<Oracle> loss_oracle(const LossProblem& problem) {
  return std::make_unique<LossOracle>(problem);
}

}  // namespace assay
