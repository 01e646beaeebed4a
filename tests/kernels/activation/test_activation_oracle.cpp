// The oracle of activations: by hand, and against plain loops in fp32, right and wrong ones.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "core/base/error.hpp"
#include "kernels/activation/problem.hpp"
#include "tests/kernels/complaints.hpp"

namespace assay {
namespace test_activation_oracle {

using Tensors = std::map<std::string, std::vector<double>>;
using Rounding = std::function<double(double)>;

double to_fp32(double value) { return round_to(DataType::fp32, value); }
double itself(double value) { return value; }

/// A mistake of a wrong implementation.
struct Mistake {
  std::int64_t channel = 0;  ///< the bias of so many channels further
  bool forgets_bias = false;
  bool uses_tanh_gelu = false;     ///< gelu's approximation by tanh
  double slope_by = 1;             ///< a factor of the derivative
  bool rounds_before_sum = false;  ///< sums are of the gradients as they are stored
  bool loses_last = false;         ///< the last image is not in the sums
};

Inputs make_inputs(const ActivationProblem& problem, std::uint64_t seed) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    inputs.emplace(spec.name, Values(Values::Kind::mantissa, seed, spec.name, spec.type, 0));
  return inputs;
}

Inputs as_stored(const ActivationProblem& problem, const Inputs& inputs, double by) {
  Inputs stored;
  for (const TensorSpec& spec : problem.tensors()) {
    std::vector<double> values(static_cast<std::size_t>(spec.elements()));
    inputs.at(spec.name).fill(0, values);
    for (double& value : values) value = round_to(spec.type, by * value);
    stored.emplace(spec.name, Values(std::move(values)));
  }
  return stored;
}

double value_of(ActivationFunction function, double z, const Rounding& r, const Mistake& mistake) {
  switch (function) {
    case ActivationFunction::identity:
      return z;
    case ActivationFunction::relu:
      return std::max(z, 0.0);
    case ActivationFunction::sigmoid:
      return r(1 / r(1 + r(std::exp(-z))));
    case ActivationFunction::tanh:
      return r(std::tanh(z));
    case ActivationFunction::gelu:
      if (mistake.uses_tanh_gelu)
        return z / 2 * (1 + std::tanh(0.79788456080286536 * (z + 0.044715 * z * z * z)));
      return r(r(z / 2) * r(1 + r(std::erf(r(z * r(std::sqrt(0.5)))))));
    case ActivationFunction::log_sigmoid:
      return r(std::min(z, 0.0) - r(std::log1p(r(std::exp(-std::abs(z))))));
  }
  return z;
}

double slope_of(ActivationFunction function, double y, const Rounding& r) {
  switch (function) {
    case ActivationFunction::identity:
      return 1;
    case ActivationFunction::relu:
      return y > 0 ? 1 : 0;
    case ActivationFunction::sigmoid:
      return r(y * r(1 - y));
    case ActivationFunction::tanh:
      return r(1 - r(y * y));
    case ActivationFunction::gelu: {
      const double part = r(r(1 + r(std::erf(r(y * r(std::sqrt(0.5)))))) / 2);
      return r(part + r(r(y * r(0.3989422804014327)) * r(std::exp(r(r(y * y) * -0.5)))));
    }
    case ActivationFunction::log_sigmoid:
      return r(1 - r(std::exp(y)));
  }
  return 1;
}

/// The definition, with every step rounded.
Tensors compute(const ActivationProblem& problem, const Inputs& inputs, const Rounding& r,
                const Mistake& mistake = {}) {
  const ActivationShape& s = problem.shape();
  const std::int64_t plane = s.ih * s.iw;
  Tensors out;
  for (const TensorSpec& spec : problem.tensors())
    if (spec.role == Role::output) out[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  for (std::int64_t i = 0; i < s.elements(); ++i) {
    const std::int64_t c = i / plane % s.ic;
    const auto at = static_cast<std::size_t>(i);
    const double bias =
        inputs.contains("bias") && problem.bias() && !mistake.forgets_bias &&
                (!problem.backward() || problem.function() == ActivationFunction::gelu)
            ? inputs.at("bias")((c + mistake.channel) % s.ic)
            : 0;
    if (!problem.backward()) {
      const double z = r(inputs.at("src")(i) + bias);
      out["dst"][at] = value_of(problem.function(), z, r, mistake);
      continue;
    }
    double g = inputs.at("diff_dst")(i);
    if (const char* const of = problem.of_derivative())
      g = r(g * mistake.slope_by * slope_of(problem.function(), r(inputs.at(of)(i) + bias), r));
    if (out.contains("diff_src")) out["diff_src"][at] = g;
    if (mistake.rounds_before_sum) g = round_to(storage(problem.precision()), g);
    if (mistake.loses_last && i / plane / s.ic == s.mb - 1) continue;
    if (problem.bias()) {
      double& sum = out["diff_bias"][static_cast<std::size_t>((c + mistake.channel) % s.ic)];
      sum = r(sum + g);
    }
  }
  return out;
}

int complaints(const ActivationProblem& problem, const Inputs& inputs, const Tensors& computed) {
  return kernel_test::complaints(problem, *make_activation_oracle(problem), inputs, computed);
}

std::vector<ActivationProblem> problems(const ActivationShape& shape, Precision precision) {
  std::vector<ActivationProblem> all;
  for (const std::string& direction : list_names<ActivationDirection>())
    for (const std::string& function : list_names<ActivationFunction>())
      for (const bool bias : {true, false}) {
        const ActivationProblem problem(shape, parse_name<ActivationDirection>(direction),
                                        parse_name<ActivationFunction>(function), bias, precision);
        if (!why_not_precision(problem)) all.push_back(problem);
      }
  return all;
}

std::string text(const ActivationProblem& p) {
  return p.canonical() + " " + name(p.direction()) + " " + name(p.function()) +
         (p.bias() ? " bias " : " ") + std::string(name(p.precision()));
}

TEST(ActivationOracle, AcceptsPlainLoopsInTheirPrecision) {
  std::uint64_t seed = 0;
  for (const ActivationShape& shape :
       {ActivationShape{3, 5, 9, 7}, ActivationShape{40, 33, 1, 1}, ActivationShape{2, 2, 60, 60}})
    for (const Precision precision :
         {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
      for (const ActivationProblem& problem : problems(shape, precision)) {
        const Rounding r = precision == Precision::fp64 ? itself : to_fp32;
        const Inputs inputs = make_inputs(problem, ++seed);
        EXPECT_EQ(complaints(problem, inputs, compute(problem, inputs, r)), 0) << text(problem);
        // The data are those of a network: far from 0, and gradients all equal, in chains as long
        // as are allowed.
        if (shape.mb * shape.ih * shape.iw > 361) continue;
        Inputs stored = as_stored(problem, inputs, 12);
        if (problem.backward())
          stored.insert_or_assign(
              "diff_dst", Values(std::vector<double>(static_cast<std::size_t>(shape.elements()),
                                                     round_to(storage(precision), 0.3))));
        EXPECT_EQ(complaints(problem, stored, compute(problem, stored, r)), 0) << text(problem);
      }
}

TEST(ActivationOracle, RefusesMistakes) {
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    for (const ActivationProblem& problem : problems({4, 6, 14, 14}, precision)) {
      const Inputs inputs = make_inputs(problem, 7);
      const auto refuses = [&](const Mistake& mistake) {
        EXPECT_GT(complaints(problem, inputs, compute(problem, inputs, to_fp32, mistake)), 0)
            << text(problem);
      };
      const bool gelu = problem.function() == ActivationFunction::gelu;
      if (problem.bias()) refuses({.channel = 1});
      if (problem.bias() && (!problem.backward() || gelu)) refuses({.forgets_bias = true});
      if (gelu && !problem.backward() && precision == Precision::fp32)
        refuses({.uses_tanh_gelu = true});
      if (!problem.backward()) continue;
      if (problem.of_derivative() != nullptr) refuses({.slope_by = 0.98});
      if (problem.bias()) refuses({.loses_last = true});
    }
}

/// Gradients that were rounded to 16 bits before they are added.
TEST(ActivationOracle, RefusesSumsOfRoundedGradients) {
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    for (const ActivationProblem& problem : problems({4, 6, 28, 28}, precision)) {
      if (!problem.backward() || !problem.bias()) continue;
      const Inputs inputs = make_inputs(problem, 7);
      const int found = complaints(problem, inputs,
                                   compute(problem, inputs, to_fp32, {.rounds_before_sum = true}));
      // Outputs of identity and relu are copies.
      const bool copies = problem.function() == ActivationFunction::identity ||
                          problem.function() == ActivationFunction::relu;
      EXPECT_EQ(found > 0, !copies) << text(problem);
    }
}

TEST(ActivationOracle, OneWrongElementOfAnyOutputShows) {
  for (const ActivationProblem& problem : problems({2, 3, 5, 4}, Precision::fp32)) {
    const Inputs inputs = make_inputs(problem, 9);
    const Tensors right = compute(problem, inputs, to_fp32);
    for (const auto& [name, values] : right) {
      Tensors wrong = right;
      wrong[name].back() = values.back() * 1.01 + 0.01;
      EXPECT_GT(complaints(problem, inputs, wrong), 0) << text(problem) << ' ' << name;
    }
  }
}

/// Values of torch.nn.functional's functions and their gradients, to six digits.
TEST(ActivationOracle, ByHand) {
  const auto stored = [](std::vector<double> values) { return Values(std::move(values)); };
  const auto value = [&](ActivationFunction function, ActivationDirection direction, double of) {
    const ActivationProblem problem({1, 1, 1, 1}, direction, function, false, Precision::fp64);
    Inputs inputs{{"src", stored({of})}, {"dst", stored({of})}, {"diff_dst", stored({2})}};
    const TensorSpec output = problem.tensors().back();
    const std::int64_t first = 0;
    Expected expected;
    make_activation_oracle(problem)->expect(output, inputs, {}, false, {&first, 1}, {&expected, 1});
    return expected.value;
  };
  constexpr auto forward = ActivationDirection::forward, backward = ActivationDirection::backward;
  EXPECT_NEAR(value(ActivationFunction::gelu, forward, 1), 0.841345, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::gelu, forward, -2), -0.045500, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::gelu, backward, 1), 2 * 1.083315, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::sigmoid, forward, 1), 0.731059, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::sigmoid, backward, 0.75), 2 * 0.1875, 1e-12);
  EXPECT_NEAR(value(ActivationFunction::log_sigmoid, forward, 1), -0.313262, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::log_sigmoid, forward, -50), -50, 1e-12);
  EXPECT_NEAR(value(ActivationFunction::log_sigmoid, backward, -0.5), 2 * 0.393469, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::tanh, forward, -1), -0.761594, 1e-6);
  EXPECT_NEAR(value(ActivationFunction::tanh, backward, 0.5), 2 * 0.75, 1e-12);
  EXPECT_EQ(value(ActivationFunction::relu, forward, -1), 0);
  EXPECT_EQ(value(ActivationFunction::relu, backward, 0), 0);
  EXPECT_EQ(value(ActivationFunction::relu, backward, 0.1), 2);
}

TEST(ActivationProblem, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(parse_activation("mb16ic64ih56"), (ActivationShape{16, 64, 56, 56}));
  EXPECT_EQ(parse_activation("ic2000mb100"), (ActivationShape{100, 2000, 1, 1}));
  for (const char* text : {"mb4ic3ih2iw5", "mb4ic3", "mb4ic3ih1iw5", "mb4ic3ih5iw1", "mb4ic3ih2"})
    EXPECT_EQ(to_descriptor(parse_activation(text)), text);
  for (const char* wrong :
       {"", "mb1", "mb1ic0", "mb1ic2ih3x4", "mb1mb1ic2", "mb99999999999ic99999999999ih3"})
    EXPECT_THROW(parse_activation(wrong), InputError) << wrong;
  EXPECT_THROW(parse_name<ActivationFunction>("swish"), InputError);
}

TEST(ActivationProblem, CountsWhatIsMoved) {
  const auto bytes = [](ActivationDirection direction, ActivationFunction function, bool bias) {
    return ActivationProblem({2, 3, 4, 5}, direction, function, bias, Precision::bf16).bytes();
  };
  constexpr auto forward = ActivationDirection::forward, backward = ActivationDirection::backward;
  EXPECT_EQ(bytes(forward, ActivationFunction::relu, false), 2 * 120 * 2);
  EXPECT_EQ(bytes(backward, ActivationFunction::tanh, true), 3 * 120 * 2 + 3 * 4);
  EXPECT_EQ(bytes(backward, ActivationFunction::gelu, true), 3 * 120 * 2 + 2 * 3 * 4);
  EXPECT_EQ(bytes(backward, ActivationFunction::identity, true), 120 * 2 + 3 * 4);
}

}  // namespace test_activation_oracle
}  // namespace assay
