// The fp64 reference of activations. Sums over channels are computed once for each draw of inputs.

#include <algorithm>
#include <cmath>

#include "kernels/activation/formula_items.hpp"
#include "kernels/activation/problem.hpp"
#include "kernels/oracle/channel_sums.hpp"

namespace assay {
namespace {

class ActivationOracle final : public WholeOracle {
 public:
  explicit ActivationOracle(const ActivationProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const std::vector<double>& biases = known(inputs, execution).biases;
    const sums::Bounds bounds = this->bounds(output, execution);
    if (output.dims.size() == 1) {
      for (std::size_t i = 0; i < indices.size(); ++i)
        expected[i] = diff_bias(place(indices[i]), bounds, inputs);
      return;
    }
    with_code(bounds, execution, [&](const auto& code) {
      sums::expect_elements(code, sums::find_values(names(), inputs), biases, indices, expected);
    });
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (output.dims.size() == 1) return std::nullopt;
    ElementFormula formula;
    with_code(bounds(output, execution), execution, [&](const auto& code) {
      formula = make_formula(code, names(), known(inputs, execution).biases);
    });
    return formula;
  }

 private:
  using Sums = activation::GradientSums;

  /// The common part of all outputs.
  struct Cache {
    std::vector<double> biases;
    std::vector<double> sums;  ///< GradientSums of each channel, if diff_bias is wanted
  };

  bool adds_bias() const {
    return problem_.bias() &&
           (!problem_.backward() || problem_.function() == ActivationFunction::gelu);
  }

  /// The inputs of the formulas.
  std::vector<std::string> names() const {
    if (!problem_.backward()) return {"src"};
    if (problem_.of_derivative() == nullptr) return {"diff_dst"};
    return {"diff_dst", problem_.of_derivative()};
  }

  sums::Bounds bounds(const TensorSpec& output, const Execution& execution) const {
    return {problem_.precision(), execution, output.type, place(output.elements())};
  }

  double roundoff(const Execution& execution) const {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    return problem_.precision() == Precision::fp64 ? 2 * u : u;  // the reference is in fp64, too
  }

  activation::Element element(const Execution& execution) const {
    const ActivationShape& s = problem_.shape();
    return {problem_.function(), adds_bias(), s.ih * s.iw, s.ic, roundoff(execution)};
  }

  /// Calls body(code) with the code that computes the expected elements of dst or of diff_src.
  template <class Body>
  void with_code(const sums::Bounds& bounds, const Execution& execution, const Body& body) const {
    if (problem_.backward()) return body(activation::DiffSrc{element(execution), bounds});
    body(activation::Dst{element(execution), bounds});
  }

  const Cache& known(const Inputs& inputs, const Execution& execution) const {
    std::vector<double> key = sums::fingerprint(tensors_, inputs);
    key.push_back(roundoff(execution));
    if (key == key_) return known_;
    const ActivationShape& s = problem_.shape();
    known_ = {};
    if (adds_bias()) {
      known_.biases.resize(place(s.ic));
      inputs.find("bias")->second.fill(0, known_.biases);
    }
    if (problem_.backward() && problem_.bias())
      known_.sums = sums::ChannelSums({s.mb, s.ic, s.ih * s.iw}, names())
                        .sum(Sums{element(execution)}, inputs, known_.biases, prover_);
    roundoff_ = roundoff(execution);
    key_ = std::move(key);
    return known_;
  }

  /// The errors of terms are independent if the signs of their gradients are random; otherwise all
  /// errors may have one sign. The errors of the additions are as in batch normalization
  /// (docs/method-norm.md).
  Expected diff_bias(std::size_t channel, const sums::Bounds& bounds, const Inputs& inputs) const {
    const double* const channel_sums = known_.sums.data() + channel * Sums::terms;
    const bool random = inputs.find("diff_dst")->second.random();
    const ActivationShape& s = problem_.shape();
    const double m = static_cast<double>(s.elements() / s.ic),
                 variance = sums::variance_of_channel(m, channel_sums[0], channel_sums[1],
                                                      channel_sums[2], random, roundoff_) +
                            (random ? channel_sums[4] : 0),
                 deviation = std::sqrt(variance), systematic = random ? 0 : channel_sums[3],
                 of_equal = sums::error_of_equal(m, channel_sums[1], random, roundoff_);
    return bounds.rounded(channel_sums[0],
                          std::max(bounds.deviations * deviation, of_equal) + systematic,
                          std::max(bounds.norm_deviations * deviation, of_equal) + systematic);
  }

  ActivationProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable Cache known_;
  mutable double roundoff_ = 0;  ///< with which known_ was computed
};

}  // namespace

std::unique_ptr<Oracle> make_activation_oracle(const ActivationProblem& problem) {
  return std::make_unique<ActivationOracle>(problem);
}

}  // namespace assay
