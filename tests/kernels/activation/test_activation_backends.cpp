// The backends of activations, through the plugins, over random shapes, and far from 0.

#include <cmath>
#include <random>

#include "kernels/activation/benchmark.hpp"
#include "kernels/activation/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_activation_backends {

using namespace kernel_test;

/// Cases of both directions: all functions with a bias, and all but identity without one.
const int cases = 2 * (2 * static_cast<int>(list_names<ActivationFunction>().size()) - 1);

std::map<std::string, int> verify_random(const std::string& backend, int shapes,
                                         const std::vector<std::string>& layouts) {
  std::mt19937 random(31);
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<std::string> problems{"mb100ic37", "mb1ic1"};
  while (static_cast<int>(problems.size()) < shapes)
    problems.push_back(to_descriptor(ActivationShape{up_to(3), up_to(70), up_to(20), up_to(20)}));
  return verify_all(activation_benchmark(), problems,
                    {{"direction", {"all"}},
                     {"function", {"all"}},
                     {"bias", {"all"}},
                     {"backend", {backend}},
                     {"layout", layouts}});
}

TEST(ActivationBackends, ReferenceHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("reference", 3, {"nchw"}))
    EXPECT_EQ(count, 3 * cases) << precision;
}

TEST(ActivationBackends, NativeHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("native", 6, {"nhwc"}))
    EXPECT_EQ(count, 6 * cases) << precision;
}

TEST(ActivationBackends, OneDnnHasFp32WithoutBiasInBothLayouts) {
  if (!kernel_test::is_built("onednn")) GTEST_SKIP() << "onednn is not built";
  const auto had = verify_random("onednn", 3, {"nchw", "nhwc"});
  EXPECT_EQ(had.at("fp32"), 3 * 2 * 4 * 2);
  EXPECT_EQ(had.at("fp64"), 0);
}

TEST(ActivationBackends, RefuseWhatTheyHaveNot) {
  for (const auto& [axis, value, words] :
       {std::tuple{"layout", "nchw", "Use any or nhwc"}, std::tuple{"device", "gpu", "Use cpu"}})
    EXPECT_NE(refusal(activation_benchmark(),
                      {{"problem", "mb1ic1"}, {"backend", "native"}, {axis, value}})
                  .find(words),
              std::string::npos)
        << axis;
  EXPECT_NE(refusal(activation_benchmark(), {{"problem", "mb1ic1"},
                                             {"backend", "reference"},
                                             {"function", "identity"},
                                             {"bias", "none"}})
                .find("computes nothing"),
            std::string::npos);
}

/// The outputs of an operation with these inputs, which are put in row-major order.
std::map<std::string, std::vector<double>> run(const ActivationProblem& problem,
                                               const std::string& backend, const Inputs& inputs) {
  Options options;
  Result<Backend*> opened = plugins().open(backend);
  Backend& plugin = *std::get<Backend*>(opened);
  Device& device = *std::get<Device*>(plugin.device(options));
  auto made = plugin.make(problem, options, alone());
  auto& operation = *std::get<std::unique_ptr<Operation>>(made);
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(device.allocate(spec));
    bound.push_back(tensors.back().get());
    if (spec.role == Role::input)
      device.put(*bound.back(), [&](std::int64_t first, std::span<double> out) {
        inputs.at(spec.name).fill(first, out);
      });
  }
  operation.bind(bound);
  operation.run(device.stream());
  device.stream().wait();
  std::map<std::string, std::vector<double>> outputs;
  for (Tensor* const tensor : bound)
    if (tensor->spec().role == Role::output)
      device.get(*tensor, [&](std::int64_t, std::span<const double> values) {
        auto& all = outputs[tensor->spec().name];
        all.insert(all.end(), values.begin(), values.end());
      });
  return outputs;
}

/// Sums of source and bias from -110 to 110, dense near 0, in fp32 and fp64.
TEST(ActivationBackends, AreWithinTheirBoundsFarFromZero) {
  for (const char* backend : {"reference", "native"})
    for (const Precision precision : {Precision::fp64, Precision::fp32})
      for (const std::string& function : list_names<ActivationFunction>())
        for (const ActivationDirection direction :
             {ActivationDirection::forward, ActivationDirection::backward}) {
          const ActivationShape shape{1, 1, 400, 500};
          const ActivationProblem problem(
              shape, direction, parse_name<ActivationFunction>(function), true, precision);
          const auto elements = static_cast<std::size_t>(shape.elements());
          std::vector<double> x(elements), g(elements);
          const double half = static_cast<double>(elements) / 2;
          for (std::size_t i = 0; i < elements; ++i) {
            const double at = (static_cast<double>(i) - half) / half;
            const bool from_dst = problem.backward() && problem.of_derivative() != nullptr &&
                                  std::string(problem.of_derivative()) == "dst";
            x[i] = round_to(storage(precision), from_dst ? at : at * (0.5 + 109 * at * at));
            g[i] = i % 3 == 0 ? -0.75 : 1;
          }
          const Inputs inputs{{"src", Values(x)},
                              {"dst", Values(x)},
                              {"bias", Values(std::vector<double>{0.0078125})},
                              {"diff_dst", Values(g)}};
          const auto outputs = run(problem, backend, inputs);
          const auto oracle = make_activation_oracle(problem);
          for (const TensorSpec& spec : problem.tensors()) {
            if (spec.role != Role::output) continue;
            const std::vector<double>& found = outputs.at(spec.name);
            std::vector<std::int64_t> indices(found.size());
            for (std::size_t i = 0; i < indices.size(); ++i)
              indices[i] = static_cast<std::int64_t>(i);
            std::vector<Expected> expected(found.size());
            oracle->expect(spec, inputs, {}, false, indices, expected);
            double worst = 0;
            for (std::size_t i = 0; i < found.size(); ++i) {
              const double error = std::abs(found[i] - expected[i].value);
              ASSERT_LE(error, expected[i].max_bound)
                  << backend << ' ' << name(precision) << ' ' << function << ' ' << spec.name
                  << " at " << x[i] << ": " << found[i] << ", not " << expected[i].value;
              if (error > 0) worst = std::max(worst, error / expected[i].max_bound);
            }
            RecordProperty(std::string(backend) + "_" + std::string(name(precision)) + "_" +
                               function + "_" + spec.name,
                           std::to_string(worst));
          }
        }
}

/// NaN stays NaN, in vectors and at their ends.
TEST(ActivationBackends, KeepNan) {
  for (const char* backend : {"reference", "native"})
    for (const Precision precision : {Precision::fp64, Precision::fp32, Precision::bf16})
      for (const std::string& function : list_names<ActivationFunction>()) {
        const ActivationProblem problem({1, 1, 1, 21}, ActivationDirection::forward,
                                        parse_name<ActivationFunction>(function), true, precision);
        const auto outputs = run(problem, backend,
                                 {{"src", Values(std::vector<double>(21, std::nan("")))},
                                  {"bias", Values(std::vector<double>{0.5})}});
        for (const double value : outputs.at("dst"))
          EXPECT_TRUE(std::isnan(value)) << backend << name(precision) << function;
      }
}

}  // namespace test_activation_backends
}  // namespace assay
