// The update of parameters: its oracle against plain loops, right and wrong ones, and the backends.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "kernels/update/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_update {

using Tensors = std::map<std::string, std::vector<double>>;

double to_fp32(double value) { return round_to(DataType::fp32, value); }

struct Mistake {
  double gradient_by = 1, decay_by = 1, coefficient_by = 1;
  double beta2_by = 1, step_by = 1;
  bool epsilon_in_root = false;
  bool loses_update = false, keeps_velocity = false, shares_norms = false, adapts_all = false;
};

UpdateShape shape_of(UpdateRule rule) {
  return {rule,
          0.9,
          0.01,
          0.05,
          {{300, true, true}, {7, false, false}, {1500, true, true}, {1, false, true}}};
}

Inputs make_inputs(const UpdateProblem& problem, std::uint64_t seed) {
  const auto oracle = make_update_oracle(problem);
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    const Values values(Values::Kind::mantissa, seed, spec.name, spec.type, 0);
    inputs.emplace(spec.name, oracle->nonnegative(spec) ? values.magnitudes() : values);
  }
  return inputs;
}

/// The definition, with the elements in fp32.
Tensors compute(const UpdateProblem& problem, const Inputs& inputs, const Mistake& mistake = {}) {
  const auto r = to_fp32;
  UpdateShape shape = problem.shape();
  shape.weight_decay *= mistake.decay_by;
  shape.coefficient *= mistake.coefficient_by;
  Tensors t;
  shape.beta2 *= mistake.beta2_by;
  shape.alpha *= mistake.beta2_by;
  const UpdateLoop loop = find_loop(shape.rule);
  const double step_number =
      loop == UpdateLoop::moments ? mistake.step_by * inputs.find("step")->second(0) : 1;
  for (const char* name : {"gradient", "weights", "velocity", "second"}) {
    if (!inputs.contains(name)) continue;
    t[name].resize(static_cast<std::size_t>(shape.elements()));
    inputs.find(name)->second.fill(0, t[name]);
  }
  const double rate = inputs.find("rate")->second(0), unscale = inputs.find("unscale")->second(0);
  const auto norm = [&](const char* name, std::size_t first, std::size_t count) {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += t[name][i] * t[name][i];
    return std::sqrt(sum);
  };
  double not_finite = 0, zeros = 0, stale = 0;
  for (const double g : t["gradient"]) {
    not_finite += std::isfinite(g) ? 0 : 1;
    zeros += g == 0 ? 1 : 0;
  }
  const auto n = static_cast<std::size_t>(shape.elements());
  t["norms"] = {unscale * norm("gradient", 0, n), norm("weights", 0, n)};
  std::size_t first = 0;
  const Tensors before = t;
  for (UpdateTensor tensor : shape.tensors) {
    const auto count = static_cast<std::size_t>(tensor.elements);
    if (mistake.adapts_all) tensor.adapts = true;
    const auto of = [&](const char* name) {
      double sum = 0;
      const std::size_t from = mistake.shares_norms ? 0 : first,
                        most = mistake.shares_norms ? n : count;
      for (std::size_t i = from; i < from + most; ++i)
        sum += before.at(name)[i] * before.at(name)[i];
      return std::sqrt(sum);
    };
    UpdateStep<double> f = update_factors(shape, tensor, rate, unscale, unscale * of("gradient"),
                                          of("weights"), step_number);
    const auto moved = [&](std::size_t i, Tensors& to) {
      double& v = to["velocity"][i];
      const double w = before.at("weights")[i],
                   h = r(r(r(f.of_gradient * mistake.gradient_by) * before.at("gradient")[i]) +
                         r(r(f.of_weight) * w)),
                   old = mistake.keeps_velocity ? 0 : r(r(f.keep) * v);
      double root = 1;
      if (loop != UpdateLoop::momentum) {
        double& second = to["second"][i];
        second = r(r(r(f.keep_second) * second) + r(r(f.add_second) * r(h * h)));
        root = mistake.epsilon_in_root
                   ? r(std::sqrt(r(r(f.of_root * f.of_root * second) + f.epsilon)))
                   : r(r(r(f.of_root) * r(std::sqrt(second))) + r(f.epsilon));
      }
      v = r(old + (loop == UpdateLoop::rmsprop ? r(h / root) : r(r(f.add) * h)));
      return loop == UpdateLoop::moments ? r(r(r(r(f.of_first) * v) / root) + r(r(f.of_decay) * w))
                                         : v;
    };
    if (shape.rule == UpdateRule::lamb) {
      double squares = 0;
      Tensors other = before;
      for (std::size_t i = first; i < first + count; ++i) squares += std::pow(moved(i, other), 2);
      f.of_velocity *= lamb_trust(tensor, of("weights"), std::sqrt(squares));
    }
    for (std::size_t i = first; i < first + count && not_finite == 0; ++i) {
      double& w = t["weights"][i];
      const double step = r(r(f.of_velocity) * moved(i, t)), after = r(w - step);
      stale += step != 0 && after == w ? 1 : 0;
      if (!mistake.loses_update) w = after;
    }
    first += count;
  }
  t["counts"] = {not_finite, zeros, stale};
  t["stored"] = t["weights"];
  return t;
}

int complaints(const UpdateProblem& problem, const Inputs& inputs, const Tensors& computed) {
  Execution execution;
  execution.accumulate = "fp32";
  const auto oracle = make_update_oracle(problem);
  int found = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == Role::input) continue;
    std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
    std::vector<Expected> expected(indices.size());
    oracle->expect(spec, inputs, execution, false, indices, expected);
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (!(std::abs(round_to(spec.type, computed.at(spec.name)[i]) - expected[i].value) <=
            expected[i].max_bound))
        ++found;
  }
  return found;
}

constexpr UpdateRule rules[] = {UpdateRule::sgd,  UpdateRule::lars,      UpdateRule::larc,
                                UpdateRule::adam, UpdateRule::adamw,     UpdateRule::rmsprop,
                                UpdateRule::lamb, UpdateRule::larc_adam, UpdateRule::larc_rmsprop};

TEST(UpdateOracle, AcceptsPlainLoopsInFp32) {
  for (const UpdateRule rule : rules)
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16})
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const UpdateProblem problem(shape_of(rule), precision);
        const Inputs inputs = make_inputs(problem, seed);
        EXPECT_EQ(complaints(problem, inputs, compute(problem, inputs)), 0) << problem.canonical();
      }
}

TEST(UpdateOracle, RefusesMistakes) {
  for (const UpdateRule rule : rules) {
    UpdateShape shape = shape_of(rule);
    shape.coefficient = 1e-3;  // so small that larc limits
    shape.epsilon = 1e-3;
    const UpdateProblem problem(shape, Precision::fp32);
    const Inputs inputs = make_inputs(problem, 3);
    const auto of = [&](const Mistake& mistake) {
      return complaints(problem, inputs, compute(problem, inputs, mistake));
    };
    EXPECT_GT(of({.gradient_by = 0.99}), 0) << name(rule);
    EXPECT_GT(of({.decay_by = 0}), 0) << name(rule);
    EXPECT_GT(of({.loses_update = true}), 0) << name(rule);
    EXPECT_GT(of({.keeps_velocity = true}), 0) << name(rule);
    if (find_loop(rule) != UpdateLoop::momentum) {
      EXPECT_GT(of({.beta2_by = 0.999}), 0) << name(rule);
      EXPECT_GT(of({.epsilon_in_root = true}), 0) << name(rule);
    }
    if (find_loop(rule) == UpdateLoop::moments) {
      EXPECT_GT(of({.step_by = 1.01}), 0) << name(rule);
    }
    if (needs_trust(rule)) {
      EXPECT_GT(of({.coefficient_by = 1.01}), 0) << name(rule);
    }
    if (!needs_trust(rule) && rule != UpdateRule::lamb) continue;
    EXPECT_GT(of({.shares_norms = true}), 0) << name(rule);
    EXPECT_GT(of({.adapts_all = true}), 0) << name(rule);
  }
}

/// The order of the sums, and products that are not rounded before they are added, differ between
/// compilers and processors.
TEST(UpdateOracle, NormsAreThoseOfAnyOrderOfTheirSums) {
  const UpdateProblem problem({UpdateRule::sgd, 0.9, 0.01, 0.05, {{100000, true, true}}},
                              Precision::fp64);
  const auto oracle = make_update_oracle(problem);
  const TensorSpec norms = problem.tensors()[5];
  ASSERT_EQ(norms.name, "norms");
  Execution execution;
  execution.accumulate = "fp64";
  const std::vector<std::int64_t> indices{0, 1};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Inputs inputs = make_inputs(problem, seed);
    std::vector<Expected> expected(2);
    oracle->expect(norms, inputs, execution, false, indices, expected);
    const double unscale = inputs.find("unscale")->second(0);
    for (std::size_t i = 0; i < 2; ++i) {
      std::vector<double> values(100000);
      inputs.find(i == 0 ? "gradient" : "weights")->second.fill(0, values);
      double fused = 0, narrow = 0;
      for (auto value = values.rbegin(); value != values.rend(); ++value) {
        fused = std::fma(*value, *value, fused);
        narrow = to_fp32(narrow + *value * *value);
      }
      const double factor = i == 0 ? unscale : 1;
      const auto distance = [&](double sum) {
        return std::abs(factor * std::sqrt(sum) - expected[i].value);
      };
      EXPECT_LE(distance(fused), expected[i].max_bound) << "seed " << seed;
      EXPECT_GT(distance(narrow), expected[i].max_bound) << "seed " << seed;
    }
  }
}

Values stored(std::vector<double> values) { return Values(std::move(values)); }

/// A shape of one tensor, whose inputs are given.
Inputs inputs_of(std::vector<double> gradient, std::vector<double> weights) {
  const std::vector<double> zeros(weights.size());
  return {{"gradient", stored(std::move(gradient))},
          {"rate", stored({0.5})},
          {"unscale", stored({1})},
          {"weights", stored(std::move(weights))},
          {"velocity", stored(zeros)}};
}

TEST(UpdateOracle, NothingIsUpdatedByWhatIsNotFinite) {
  const UpdateProblem problem({UpdateRule::sgd, 0.9, 0, 0, {{3}}}, Precision::fp32);
  const Inputs inputs = inputs_of({1, std::numeric_limits<double>::infinity(), 0}, {1, 2, 3});
  Tensors kept = compute(problem, inputs);
  EXPECT_EQ(kept["counts"], (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(kept["weights"], (std::vector<double>{1, 2, 3}));
  kept["norms"][0] = 0;  // infinite: no number is compared with it
  Tensors moved = kept;
  moved["weights"][0] = 0.5;
  EXPECT_EQ(complaints(problem, inputs, moved), complaints(problem, inputs, kept) + 1);
}

/// Weights decay without a gradient, as of a network of one class; a bias of 0 stays the first.
TEST(UpdateOracle, TellsWeightsApartThatDifferInSomeElement) {
  const UpdateProblem problem({UpdateRule::sgd, 0.9, 0.01, 0, {{3}}}, Precision::fp32);
  const auto oracle = make_update_oracle(problem);
  const std::vector<TensorSpec> tensors = problem.tensors();
  const auto norms = std::find_if(tensors.begin(), tensors.end(),
                                  [](const TensorSpec& spec) { return spec.name == "norms"; });
  Execution execution;
  execution.accumulate = "fp32";
  const std::int64_t of_weights[] = {1};
  for (const double last : {2.0, 3.0}) {
    Expected expected[1];
    oracle->expect(*norms, inputs_of({0, 0, 0}, {0, 0, last}), execution, false, of_weights,
                   expected);
    EXPECT_DOUBLE_EQ(expected[0].value, last);
  }
}

TEST(UpdateOracle, CountsStaleWeights) {
  const UpdateProblem problem({UpdateRule::sgd, 0, 0, 0, {{3}}}, Precision::fp32);
  const Inputs inputs = inputs_of({1e-9, 1, 0}, {1, 1, 1});
  Tensors right = compute(problem, inputs);
  EXPECT_EQ(right["counts"], (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(complaints(problem, inputs, right), 0);
  right["counts"][2] = 0;
  EXPECT_EQ(complaints(problem, inputs, right), 1);
}

/// If parts cancel, the step's error is more than the weight's last place: whether the weight stays
/// depends on roundings.
TEST(UpdateOracle, AStepOfPartsThatCancelMayLeaveAWeightStale) {
  const UpdateProblem problem({UpdateRule::sgd, 0.9, 0, 0, {{1}}}, Precision::fp32);
  Inputs inputs = inputs_of({to_fp32(-0.9)}, {to_fp32(0.01)});
  inputs.insert_or_assign("velocity", stored({1}));
  Tensors right = compute(problem, inputs);
  EXPECT_EQ(right["counts"], (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(complaints(problem, inputs, right), 0);
  right["counts"][2] = 1;
  EXPECT_EQ(complaints(problem, inputs, right), 0);
  right["counts"][2] = 2;
  EXPECT_EQ(complaints(problem, inputs, right), 1);
  // The result of a clear step is known.
  inputs.insert_or_assign("velocity", stored({2}));
  right = compute(problem, inputs);
  EXPECT_EQ(complaints(problem, inputs, right), 0);
  right["counts"][2] = 1;
  EXPECT_EQ(complaints(problem, inputs, right), 1);
}

/// A gradient that may be 0 for some processors is divided by epsilon.
TEST(UpdateOracle, AcceptsSubnormalGradientsThatAreFlushed) {
  const UpdateProblem problem({UpdateRule::rmsprop, 0.9, 0, 0, {{3}}}, Precision::fp32);
  Inputs inputs = inputs_of({1e-40, 1, 1e-39}, {1, 1, 1});
  inputs.insert_or_assign("second", stored({0, 0, 0}));
  Tensors flushed = compute(problem, inputs);
  EXPECT_EQ(complaints(problem, inputs, flushed), 0);
  flushed["velocity"][0] = flushed["velocity"][2] = 0;
  EXPECT_EQ(complaints(problem, inputs, flushed), 0);
  flushed["velocity"][1] *= 0.999;
  EXPECT_EQ(complaints(problem, inputs, flushed), 1);
}

TEST(UpdateBackends, HaveEveryRuleAndPrecision) {
  for (const char* backend : {"reference", "native"})
    for (const UpdateRule rule : rules)
      for (const Precision precision :
           {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
        for (int threads = 1; threads <= 3; ++threads) {
          const UpdateProblem problem(shape_of(rule), precision);
          EXPECT_TRUE(kernel_test::verify(problem, make_update_oracle(problem), backend, threads))
              << backend;
        }
}

/// Squares of such elements are 0 and infinite in fp32; the norms are neither.
TEST(UpdateBackends, KnowNormsOfSmallAndLargeElements) {
  const UpdateProblem problem({UpdateRule::sgd, 0.9, 0, 0, {{50}}}, Precision::fp32);
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
      const double value = spec.name == "gradient" ? 1e-30 : spec.name == "weights" ? 1e30 : 1;
      device.put(*tensor, [&](std::int64_t, std::span<double> out) {
        std::fill(out.begin(), out.end(), value);
      });
    }
    operation->bind(bound);
    operation->run(device.stream());
    device.stream().wait();
    device.get(*tensors["norms"], [&](std::int64_t, std::span<const double> norms) {
      EXPECT_NEAR(norms[0], std::sqrt(50) * 1e-30, 1e-36) << name;
      EXPECT_NEAR(norms[1], std::sqrt(50) * 1e30, 1e24) << name;
    });
  }
}

TEST(UpdateProblem, RefusesWhatIsNone) {
  EXPECT_EQ(UpdateProblem(shape_of(UpdateRule::lars), Precision::fp32).canonical(),
            "lars_n1808t4m0.9wd0.01c0.05");
  EXPECT_EQ(UpdateProblem(shape_of(UpdateRule::larc_adam), Precision::fp32).canonical(),
            "larc-adam_n1808t4m0.9s0.999eps1e-08wd0.01c0.05");
  EXPECT_EQ(UpdateProblem(shape_of(UpdateRule::rmsprop), Precision::fp32).canonical(),
            "rmsprop_n1808t4m0.9s0.99eps1e-08wd0.01");
  for (const UpdateShape& wrong : {UpdateShape{}, UpdateShape{UpdateRule::sgd, 0.9, 0, 0, {{0}}},
                                   UpdateShape{UpdateRule::adam, 0.9, 0, 0, {{1}}, 1},
                                   UpdateShape{UpdateRule::adam, 0.9, 0, 0, {{1}}, 0.9, -0.1},
                                   UpdateShape{UpdateRule::rmsprop, 0, 0, 0, {{1}}, 0.9, 0.9, 1},
                                   UpdateShape{UpdateRule::adam, 0, 0, 0, {{1}}, 0, 0, 0, 0},
                                   UpdateShape{UpdateRule::sgd, -1, 0, 0, {{1}}},
                                   UpdateShape{UpdateRule::sgd, 0.9, std::nan(""), 0, {{1}}}})
    EXPECT_THROW(UpdateProblem(wrong, Precision::fp32), InputError);
}

}  // namespace test_update
}  // namespace assay
