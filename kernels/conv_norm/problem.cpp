#include "kernels/conv_norm/problem.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kernels/conv/problem.hpp"
#include "kernels/norm/formula_items.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/oracle/bounds.hpp"

namespace assay {
namespace {

class ConvNormOracle final : public Oracle {
 public:
  explicit ConvNormOracle(const ConvNormProblem& problem)
      : norm_(problem_cast<NormProblem>(problem.normalization())),
        conv_(make_conv_oracle(problem_cast<ConvProblem>(problem.convolution()))),
        sums_(problem_cast<ConvProblem>(problem.convolution()).tensors().back()) {}

  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "variance";
  }

  void use(Prover& prover) const override { conv_->use(prover); }

  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t seed) const override {
    return conv_->sample(output, budget, seed);
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    conv_->expect(sums_, inputs, execution, false, indices, expected);
    const Precision precision = norm_.precision();
    const sums::Bounds bounds(precision, execution, output.type, indices.size());
    const double u = sums::ErrorModel::accumulator_roundoff(precision, execution);
    const bool adds = norm_.fusion() == NormFusion::add_relu;
    const norm::Dst dst{{bounds,
                         {},
                         1,
                         norm_epsilon,
                         precision == Precision::fp64 ? 2 * u : u,
                         0,
                         norm_.fusion() != NormFusion::none},
                        adds};
    const auto value = [&](const char* name, std::int64_t at) {
      return inputs.find(name)->second(at);
    };
    const NormShape& s = norm_.shape();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t c = indices[i] / (s.ih * s.iw) % s.ic;
      const Expected sum = expected[i];
      // An error of the sum acts like an error of the mean, because only their difference is
      // normalized.
      norm::Channel channel{value("scale", c), value("shift", c), 0, {}, {}, {}, {}};
      channel.mean = {value("mean", c), sum.max_bound, sum.rms_bound};
      channel.variance.value = value("variance", c);
      channel.inverse = 1 / std::sqrt(channel.variance.value + norm_epsilon);
      const double addend = adds ? value("addend", indices[i]) : 0;
      expected[i] = dst([&](int input, std::int64_t) { return input == 0 ? sum.value : addend; },
                        reinterpret_cast<const double*>(&channel), 0);
    }
  }

  std::optional<std::string> why_unjudgeable(const Execution& execution) const override {
    return conv_->why_unjudgeable(execution);
  }

  double widest_norm_bound() const override { return conv_->widest_norm_bound(); }

 private:
  NormProblem norm_;
  std::unique_ptr<Oracle> conv_;
  TensorSpec sums_;  ///< the convolution's output
};

}  // namespace

ConvNormProblem::ConvNormProblem(std::shared_ptr<const Problem> convolution,
                                 std::shared_ptr<const Problem> normalization)
    : conv_(std::move(convolution)), norm_(std::move(normalization)) {
  const auto& conv = problem_cast<ConvProblem>(*conv_);
  const auto& norm = problem_cast<NormProblem>(*norm_);
  if (conv.direction() != ConvDirection::forward ||
      norm.direction() != NormDirection::forward_inference ||
      conv.tensors().back().dims != norm.tensors().front().dims)
    throw std::logic_error("no convolution and its normalization in inference");
}

std::string ConvNormProblem::canonical() const {
  const NormFusion fusion = problem_cast<NormProblem>(*norm_).fusion();
  return conv_->canonical() + (fusion == NormFusion::none ? "" : "_" + name(fusion));
}

nlohmann::json ConvNormProblem::json() const { return conv_->json(); }

std::vector<TensorSpec> ConvNormProblem::tensors() const {
  std::vector<TensorSpec> all = problem_cast<ConvProblem>(*conv_).tensors();
  all.pop_back();  // dst; only the result of the normalization is stored
  for (TensorSpec& tensor : problem_cast<NormProblem>(*norm_).tensors())
    if (tensor.name != "src") all.push_back(std::move(tensor));
  return all;
}

std::unique_ptr<Oracle> make_conv_norm_oracle(const ConvNormProblem& problem) {
  return std::make_unique<ConvNormOracle>(problem);
}

}  // namespace assay
