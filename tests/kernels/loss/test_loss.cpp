// The loss: its oracle against plain loops, right and wrong ones, and the backends.

#include <cmath>
#include <functional>
#include <random>

#include "core/base/error.hpp"
#include "kernels/loss/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_loss {

using Tensors = std::map<std::string, std::vector<double>>;

double to_fp32(double value) { return round_to(DataType::fp32, value); }

struct Mistake {
  double smoothing_by = 1, gradient_by = 1;
  bool without_bias = false, shifts_labels = false, unscaled = false;
};

Inputs make_inputs(const LossProblem& problem, std::uint64_t seed) {
  const auto oracle = make_loss_oracle(problem);
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::input) continue;
    const Values values(Values::Kind::mantissa, seed, spec.name, spec.type,
                        oracle->full_magnitude(spec));
    inputs.emplace(spec.name, oracle->nonnegative(spec) ? values.magnitudes() : values);
  }
  return inputs;
}

/// The definition, with every step in fp32.
Tensors compute(const LossProblem& problem, const Inputs& inputs, const Mistake& mistake = {}) {
  const auto [samples, classes, full, biased] = problem.shape();
  const double smoothing = full * mistake.smoothing_by;
  const auto r = to_fp32;
  const bool training = problem.pass() == LossPass::training;
  Tensors out;
  out["diff_bias"].resize(static_cast<std::size_t>(classes));
  for (std::int64_t n = 0; n < samples; ++n) {
    std::vector<double> x(static_cast<std::size_t>(classes));
    for (std::int64_t c = 0; c < classes; ++c)
      x[static_cast<std::size_t>(c)] =
          r(inputs.at("logits")(n * classes + c) +
            (mistake.without_bias || !biased ? 0 : inputs.at("bias")(c)));
    std::int64_t label = static_cast<std::int64_t>(inputs.at("labels")(n));
    if (mistake.shifts_labels) label = (label + 1) % classes;
    const auto y = static_cast<std::size_t>(label);
    const auto largest = std::max_element(x.begin(), x.end());
    double sum = 0, total = 0;
    for (const double value : x) {
      sum = r(sum + r(std::exp(r(value - *largest))));
      total = r(total + value);
    }
    const double each = r(smoothing / static_cast<double>(classes));
    out["losses"].push_back(
        r(r(r(*largest + r(std::log(sum))) - r((1 - smoothing) * x[y])) - r(each * total)));
    out["correct"].push_back(static_cast<std::size_t>(largest - x.begin()) == y);
    if (!training) continue;
    const double by =
        r((mistake.unscaled ? 1 : inputs.at("scale")(0)) / static_cast<double>(samples));
    for (std::size_t c = 0; c < x.size(); ++c) {
      const double p = r(r(std::exp(r(x[c] - *largest))) / sum),
                   q = r((c == y ? 1 - smoothing : 0) + each),
                   g = mistake.gradient_by * r(by * r(p - q));
      out["diff_logits"].push_back(g);
      out["diff_bias"][c] = r(out["diff_bias"][c] + g);
    }
  }
  return out;
}

int complaints(const LossProblem& problem, const Inputs& inputs, const Tensors& computed) {
  Execution execution;
  execution.accumulate = "fp32";
  const auto oracle = make_loss_oracle(problem);
  int found = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::output) continue;
    std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
    std::vector<Expected> expected(indices.size());
    oracle->expect(spec, inputs, execution, false, indices, expected);
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (std::abs(round_to(spec.type, computed.at(spec.name)[i]) - expected[i].value) >
          expected[i].max_bound)
        ++found;
  }
  return found;
}

TEST(LossOracle, AcceptsPlainLoopsInFp32) {
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i)
    for (const LossPass pass : {LossPass::training, LossPass::validation})
      for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
        const LossProblem problem(
            {1 + static_cast<std::int64_t>(random() % 9),
             1 + static_cast<std::int64_t>(random() % 1200), i % 2 == 0 ? 0 : 0.1, i % 3 > 0},
            pass, precision);
        const Inputs inputs = make_inputs(problem, static_cast<std::uint64_t>(i));
        EXPECT_EQ(complaints(problem, inputs, compute(problem, inputs)), 0) << problem.canonical();
      }
}

TEST(LossOracle, RefusesMistakes) {
  const LossProblem problem({8, 10, 0.1}, LossPass::training, Precision::fp32);
  const Inputs inputs = make_inputs(problem, 3);
  for (const Mistake& mistake :
       {Mistake{.smoothing_by = 0}, Mistake{.smoothing_by = 1.01}, Mistake{.gradient_by = 0.99},
        Mistake{.without_bias = true}, Mistake{.shifts_labels = true}, Mistake{.unscaled = true}})
    EXPECT_GT(complaints(problem, inputs, compute(problem, inputs, mistake)), 0);
  for (const char* output : {"losses", "correct", "diff_logits", "diff_bias"}) {
    Tensors wrong = compute(problem, inputs);
    wrong[output].back() += std::string(output) == "correct" ? 1 : 0.01;
    EXPECT_GE(complaints(problem, inputs, wrong), 1) << output;
  }
}

TEST(LossOracle, EquallyLargeLogitsBelongToTheFirst) {
  const LossProblem problem({2, 3, 0}, LossPass::validation, Precision::fp32);
  const auto stored = [](std::vector<double> values) { return Values(std::move(values)); };
  const Inputs inputs{{"logits", stored({2, 2, 1, 2, 2, 1})},
                      {"bias", stored({0, 0, 0})},
                      {"labels", stored({0, 1})}};
  std::vector<Expected> expected(2);
  const std::vector<std::int64_t> both{0, 1};
  make_loss_oracle(problem)->expect(problem.tensors()[4], inputs, {}, false, both, expected);
  EXPECT_EQ(expected[0].value, 1);
  EXPECT_EQ(expected[1].value, 0);
}

TEST(LossBackends, HaveEveryPrecision) {
  for (const char* backend : {"reference", "native"})
    for (const Precision precision :
         {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
      for (const LossPass pass : {LossPass::training, LossPass::validation})
        for (const auto& [samples, classes] :
             {std::pair{1, 2}, std::pair{16, 1000}, std::pair{7, 3}, std::pair{5, 131}}) {
          for (const bool biased : {true, false}) {
            const LossProblem problem({samples, classes, 0.1, biased}, pass, precision);
            EXPECT_TRUE(kernel_test::verify(problem, make_loss_oracle(problem), backend, 2));
          }
        }
}

/// A value that a layer before has left out shows in the loss and in all gradients of its sample.
TEST(LossBackends, KeepWhatIsNoNumber) {
  const LossProblem problem({2, 37, 0}, LossPass::training, Precision::fp32);
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const auto ranks = make_serial_communicator();
  for (const char* name : {"reference", "native"}) {
    Backend& backend = *std::get<Backend*>(plugins.open(name));
    const Options options;
    Device& device = *std::get<Device*>(backend.device(options));
    const auto operation = std::get<0>(backend.make(problem, options, *ranks));
    std::map<std::string, std::unique_ptr<Tensor>> tensors;
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : operation->arguments()) {
      auto& tensor = tensors[spec.name] = device.allocate(spec);
      bound.push_back(tensor.get());
      device.put(*tensor, [&](std::int64_t first, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = spec.name == "logits" && first + static_cast<std::int64_t>(i) == 36 ? NAN : 0;
      });
    }
    operation->bind(bound);
    operation->run(device.stream());
    device.stream().wait();
    const auto numbers = [&](const std::string& tensor) {
      std::int64_t count = 0;
      device.get(*tensors[tensor], [&](std::int64_t, std::span<const double> part) {
        count += std::ranges::count_if(part, [](double value) { return std::isfinite(value); });
      });
      return count;
    };
    EXPECT_EQ(numbers("losses"), 1) << name;
    EXPECT_EQ(numbers("diff_logits"), 37) << name;
    EXPECT_EQ(numbers("diff_bias"), 0) << name;
  }
}

TEST(LossProblem, RefusesWhatIsNone) {
  EXPECT_EQ(LossProblem({16, 1000, 0.1}, LossPass::training, Precision::fp32).canonical(),
            "mb16c1000ls0.1");
  for (const LossShape& wrong : {LossShape{0, 1, 0}, LossShape{1, 0, 0}, LossShape{1, 1, 1},
                                 LossShape{1, 1, -0.1}, LossShape{1, 1, std::nan("")}})
    EXPECT_THROW(LossProblem(wrong, LossPass::training, Precision::fp32), InputError);
}

}  // namespace test_loss
}  // namespace assay
