// The squared error: the oracle by hand, against plain loops and mistakes, and the backends.

#include <cmath>
#include <random>

#include "core/base/error.hpp"
#include "kernels/squared_error/problem.hpp"
#include "tests/kernels/complaints.hpp"
#include "trial.hpp"

namespace assay {
namespace test_squared_error {

using kernel_test::complaints;
using Tensors = std::map<std::string, std::vector<double>>;

constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                    Precision::fp16};
constexpr SquaredErrorPass passes[] = {SquaredErrorPass::training, SquaredErrorPass::validation};

Inputs make_inputs(const SquaredErrorProblem& problem, std::uint64_t seed) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    if (spec.role == Role::input)
      inputs.emplace(spec.name, Values(Values::Kind::mantissa, seed, spec.name, spec.type, 0));
  return inputs;
}

struct Mistake {
  double gradient_by = 1;
  bool other_sample = false, around_zero = false, root = false, over_samples = false;
};

/// The definition, one loop after the other.
Tensors compute(const SquaredErrorProblem& problem, const Inputs& inputs,
                const Mistake& mistake = {}) {
  const auto [samples, features] = problem.shape();
  const auto count = static_cast<double>(features);
  Tensors out;
  for (std::int64_t n = 0; n < samples; ++n) {
    std::vector<double> x(static_cast<std::size_t>(features)), t(x.size());
    inputs.at("outputs").fill(n * features, x);
    inputs.at("targets").fill((mistake.other_sample ? (n + 1) % samples : n) * features, t);
    double of_x = 0, of_t = 0, loss = 0, xx = 0, tt = 0, xt = 0;
    for (std::size_t f = 0; f < x.size() && !mistake.around_zero; ++f) {
      of_x += x[f] / count;
      of_t += t[f] / count;
    }
    for (std::size_t f = 0; f < x.size(); ++f) {
      loss += (x[f] - t[f]) * (x[f] - t[f]) / (mistake.over_samples ? double(samples) : count);
      xx += (x[f] - of_x) * (x[f] - of_x);
      tt += (t[f] - of_t) * (t[f] - of_t);
      xt += (x[f] - of_x) * (t[f] - of_t);
      if (problem.pass() == SquaredErrorPass::training)
        out["diff_outputs"].push_back(mistake.gradient_by * inputs.at("scale")(0) * 2 *
                                      (x[f] - t[f]) / count / static_cast<double>(samples));
    }
    out["losses"].push_back(mistake.root ? std::sqrt(loss) : loss);
    out["correlations"].push_back(xt / std::sqrt(xx * tt));
  }
  return out;
}

TEST(SquaredErrorOracle, ByHand) {
  const SquaredErrorProblem problem({2, 3}, SquaredErrorPass::training, Precision::fp64);
  const Inputs inputs{{"outputs", Values(std::vector<double>{1, 2, 3, 5, 5, 5})},
                      {"targets", Values(std::vector<double>{1, 0, -1, 4, 5, 6})},
                      {"scale", Values(std::vector<double>{9})}};
  EXPECT_EQ(complaints(problem, *make_squared_error_oracle(problem), inputs,
                       {{"losses", {20.0 / 3, 2.0 / 3}},
                        {"correlations", {-1, 0}},
                        {"diff_outputs", {0, 6, 12, 3, 0, -3}}}),
            0);
}

TEST(SquaredErrorOracle, AcceptsPlainLoops) {
  std::mt19937 random(5);
  for (std::uint64_t i = 0; i < 20; ++i)
    for (const SquaredErrorPass pass : passes)
      for (const Precision precision : precisions) {
        const SquaredErrorProblem problem({1 + static_cast<std::int64_t>(random() % 9),
                                           3 + static_cast<std::int64_t>(random() % 1200)},
                                          pass, precision);
        const Inputs inputs = make_inputs(problem, i);
        EXPECT_EQ(complaints(problem, *make_squared_error_oracle(problem), inputs,
                             compute(problem, inputs)),
                  0)
            << problem.canonical();
      }
}

TEST(SquaredErrorOracle, RefusesMistakes) {
  for (const Precision precision : precisions) {
    const SquaredErrorProblem problem({8, 100}, SquaredErrorPass::training, precision);
    const Inputs inputs = make_inputs(problem, 3);
    const auto oracle = make_squared_error_oracle(problem);
    for (const Mistake& mistake :
         {Mistake{.gradient_by = 0.5}, Mistake{.gradient_by = 0.98}, Mistake{.other_sample = true},
          Mistake{.around_zero = true}, Mistake{.root = true}, Mistake{.over_samples = true}})
      EXPECT_GT(complaints(problem, *oracle, inputs, compute(problem, inputs, mistake)), 5);
    for (const char* output : {"losses", "correlations", "diff_outputs"}) {
      Tensors wrong = compute(problem, inputs);
      wrong[output].back() *= 1.02;
      EXPECT_GE(complaints(problem, *oracle, inputs, wrong), 1) << output;
    }
  }
}

TEST(SquaredErrorBackends, EqualTheOracle) {
  for (const char* backend : {"reference", "native"})
    for (const Precision precision : precisions)
      for (const SquaredErrorPass pass : passes)
        for (const SquaredErrorShape& shape :
             {SquaredErrorShape{1, 1}, SquaredErrorShape{1, 2}, SquaredErrorShape{7, 131},
              SquaredErrorShape{16, 6048}})
          for (const int threads : {1, 3}) {
            const SquaredErrorProblem problem(shape, pass, precision);
            EXPECT_TRUE(
                kernel_test::verify(problem, make_squared_error_oracle(problem), backend, threads))
                << backend << problem.canonical();
          }
}

/// Deviations that are small beside their mean, equal numbers, and what is no number.
TEST(SquaredErrorBackends, CenterExactly) {
  constexpr std::int64_t features = 37;
  const SquaredErrorProblem problem({4, features}, SquaredErrorPass::training, Precision::fp32);
  Tensors given{{"scale", {1}}};
  for (std::int64_t i = 0; i < 4 * features; ++i) {
    const std::int64_t n = i / features, f = i % features;
    const double step = std::ldexp(static_cast<double>(f), -22);
    given["outputs"].push_back(n == 1 ? 0.3F : n == 2 && f == 36 ? NAN : 1 + step);
    given["targets"].push_back(n == 3 ? 2 - step : 1 + step * step);
  }
  for (const char* backend : {"reference", "native"}) {
    Backend& opened = *std::get<Backend*>(kernel_test::plugins().open(backend));
    const Options options;
    Device& device = *std::get<Device*>(opened.device(options));
    const auto operation = std::get<0>(opened.make(problem, options, kernel_test::alone()));
    std::map<std::string, std::unique_ptr<Tensor>> tensors;
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : operation->arguments()) {
      auto& tensor = tensors[spec.name] = device.allocate(spec);
      bound.push_back(tensor.get());
      device.put(*tensor, [&](std::int64_t first, std::span<double> out) {
        if (spec.role == Role::input)
          std::copy_n(given.at(spec.name).begin() + first, out.size(), out.begin());
      });
    }
    operation->bind(bound);
    operation->run(device.stream());
    const auto read = [&](const std::string& tensor) {
      std::vector<double> all;
      device.get(*tensors[tensor], [&](std::int64_t, std::span<const double> part) {
        all.insert(all.end(), part.begin(), part.end());
      });
      return all;
    };
    const std::vector<double> found = read("correlations"), losses = read("losses");
    EXPECT_EQ(found[1], 0) << backend;
    EXPECT_NEAR(found[3], -1, 1e-6) << backend;
    EXPECT_FALSE(std::isfinite(found[2]) || std::isfinite(losses[2])) << backend;
    EXPECT_TRUE(std::isfinite(losses[0]) && std::isfinite(losses[1])) << backend;
    EXPECT_FALSE(std::isfinite(read("diff_outputs")[2 * features + 36])) << backend;
  }
}

TEST(SquaredErrorProblem, RefusesWhatIsNone) {
  EXPECT_EQ(
      SquaredErrorProblem({100, 60483}, SquaredErrorPass::training, Precision::fp32).canonical(),
      "mb100f60483");
  for (const SquaredErrorShape& wrong :
       {SquaredErrorShape{0, 1}, SquaredErrorShape{1, 0}, SquaredErrorShape{1 << 21, 1 << 20}})
    EXPECT_THROW(SquaredErrorProblem(wrong, SquaredErrorPass::training, Precision::fp32),
                 InputError);
  EXPECT_TRUE(
      why_not_precision(SquaredErrorProblem({1, 1}, SquaredErrorPass::training, Precision::int8))
          .has_value());
}

}  // namespace test_squared_error
}  // namespace assay
