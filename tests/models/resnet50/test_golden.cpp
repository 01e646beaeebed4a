// The network against PyTorch's: golden files of golden.py, computed in fp64 from the same initial
// parameters, images and labels.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/random.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_resnet50_golden {

using network_test::made;
using network_test::plugins;
using network_test::small_settings;
using nlohmann::json;

json golden(const std::string& name) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/models/resnet50/" + name + ".json");
  if (!file) throw std::runtime_error("no golden file " + name);
  return json::parse(file);
}

TrainerSettings settings_of(const json& of, const std::string& backend) {
  TrainerSettings settings = small_settings(backend);
  settings.network =
      make_resnet({of.at("depth"), of.at("width"), of.at("image_size"), of.at("classes")});
  settings.batch = of.at("batch");
  settings.seed = of.at("seed");
  settings.learning.momentum = of.at("momentum");
  settings.learning.weight_decay = of.at("weight_decay");
  settings.learning.last_norm = of.at("last_norm");
  return settings;
}

double norm(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// The largest distance of a number from the golden one, as a part of its size.
struct Tolerance {
  double forward, gradients, places, losses;  ///< places: of elements in a gradient
  explicit Tolerance(double all) : Tolerance(all, all, all, all) {}
  Tolerance(double of_forward, double of_gradients, double of_places, double of_losses)
      : forward(of_forward), gradients(of_gradients), places(of_places), losses(of_losses) {}
};

/// Finds what is further from the golden numbers.
class Comparison {
 public:
  Comparison(json golden, const Tolerance& tolerance)
      : golden_(std::move(golden)),
        tolerance_(tolerance),
        near_zero_(golden_.at("fp32").at("margin") < 5) {}

  void close(const std::string& what, double is, double should, double size, double tolerance) {
    ++count;
    if (!(std::abs(is - should) <= tolerance * std::abs(size))) wrong.push_back(what);
  }

  void logits(const std::vector<double>& logits) {
    const double size = golden_.at("logits_norm");
    close("norm of logits", norm(logits), size, size, tolerance_.forward);
    for (std::size_t i = 0; i < golden_.at("logits").size(); ++i)
      close("logits", logits[i], golden_.at("logits")[i], size, tolerance_.forward);
  }

  /// `scale`: the factor that the gradients have.
  void gradients(const Graph& graph, const Executor& executor, double scale = 1) {
    const json& all = golden_.at("gradients");
    close("number of gradients", static_cast<double>(graph.parameters.size()),
          static_cast<double>(all.size()), 0, 0);
    for (const Parameter& parameter : graph.parameters) {
      std::vector<double> is = read_values(executor, parameter.gradient);
      for (double& element : is) element /= scale;
      std::vector<double> others(is.size());
      Values(Values::Kind::mantissa, golden_.at("seed"), parameter.name + ".gradient",
             DataType::fp32, 0)
          .fill(0, others);
      double product = 0;
      for (std::size_t i = 0; i < is.size(); ++i) product += is[i] * others[i];
      const json& should = all.at(parameter.name);
      close("gradient of " + parameter.name, norm(is), should[0], should[0], tolerance_.gradients);
      close("places in the gradient of " + parameter.name, product, should[1], should[0],
            (near_zero_ ? 10 : 1) * tolerance_.places);
    }
  }

  void statistics(const Graph& graph, const std::vector<double>& running) {
    const std::span<const double> all(running);
    for (const Statistics& of : graph.statistics) {
      const auto part = [&](std::int64_t first) {
        return norm(
            all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(of.channels)));
      };
      const double mean = golden_.at("running_mean").at(of.name),
                   variance = golden_.at("running_var").at(of.name);
      close("running means of " + of.name, part(of.mean), mean, mean, tolerance_.forward);
      close("running variances of " + of.name, part(of.variance), variance, variance,
            tolerance_.forward);
    }
  }

  std::vector<std::string> wrong;
  std::size_t count = 0;

 private:
  json golden_;
  Tolerance tolerance_;
  bool
      near_zero_;  ///< rounding may change the sign of a rectifier's input, so gradients turn a bit
};

/// The differences in `steps` steps of training. From step `flips` on a loss may be 20 times as
/// far.
Comparison trained(const json& of, const TrainerSettings& settings, const Tolerance& tolerance,
                   std::size_t steps = 10, std::size_t flips = 10) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(settings, *alone);
  load_random(*trainer, settings.seed);
  trainer->prepare();
  Comparison all(of, tolerance);
  trainer->make_gradients();
  all.logits(read_logits(trainer->executor()));  // the step also changes the bias that they have
  for (std::size_t step = 0; step < steps; ++step) {
    trainer->step(of.at("learning_rate"));
    const double loss = of.at("losses")[step];
    all.close("loss " + std::to_string(step), trainer->loss(), loss, loss,
              (step < flips ? 1 : 20) * tolerance.losses);
    if (step > 0) continue;
    all.gradients(trainer->graph(), trainer->executor(), trainer->loss_scale().scale());
    all.statistics(trainer->graph(), trainer->running_statistics());
  }
  return all;
}

void expect_right(const Comparison& found, std::size_t least) {
  EXPECT_EQ(found.wrong, std::vector<std::string>());
  EXPECT_GE(found.count, least);
}

/// Relative, of each number; golden.py says what fp32 costs of it in each file.
const Tolerance fp32_tolerance(1e-3);

/// In step 3 of d18w16s32c10b8 one rectifier of layer4.1.bn1 has an input of 1.8e-5 in fp64. If
/// rounding makes it negative, as it does for some backends, the gradients of all layers before it
/// change by 8 %, and the losses from step 4 on by up to 1 %. GoldenFp64 has no such freedom.
constexpr std::size_t first_flip = 4;

class Golden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() != measured && !plugins().status(GetParam()).available)
      GTEST_SKIP() << GetParam() << " is not available";
  }
  static TrainerSettings settings(const json& of) {
    TrainerSettings made = settings_of(of, GetParam() == measured ? "native" : GetParam());
    made.executor.measured = GetParam() == measured;
    return made;
  }
  static constexpr std::string_view measured = "measured";
};

TEST_P(Golden, DepthEighteen) {
  const json of = golden("d18w16s32c10b8");
  expect_right(trained(of, settings(of), fp32_tolerance, 10, first_flip), 2 * 62 + 2 * 20 + 20);
}

TEST_P(Golden, DepthFifty) {
  const json of = golden("d50w16s64c20b4");
  expect_right(trained(of, settings(of), fp32_tolerance), 2 * 161 + 2 * 53 + 20);
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden,
                         testing::Values("native", "onednn", "reference", "measured"),
                         [](const auto& info) { return std::string(info.param); });

class GoldenFull : public Golden {};

TEST_P(GoldenFull, WholeWidth) {
  const json of = golden("d50w64s64c1000b4");
  expect_right(trained(of, settings(of), fp32_tolerance), 2 * 161 + 2 * 53 + 20);
}

INSTANTIATE_TEST_SUITE_P(Backends, GoldenFull, testing::Values("native", "onednn", "measured"),
                         [](const auto& info) { return std::string(info.param); });

/// Mixed precision. The tolerances are about twice what PyTorch's own mixed precision differs by
/// from fp64 (`bf16` and `fp16` of the golden files): 0.19 and 0.12 of the norms of gradients, 0.72
/// and 0.42 of their products, where rectifiers switch; 0.036 and 0.012 of ten losses. So a
/// gradient in wrong places is found in fp16 alone; in bf16 oracles of single operations find it.
class GoldenMixed : public testing::TestWithParam<std::tuple<const char*, Precision>> {
 protected:
  static void expect_close(const std::string& file, std::size_t least) {
    const auto& [backend, precision] = GetParam();
    if (!plugins().status(backend).available) GTEST_SKIP() << backend << " is not available";
    const json of = golden(file);
    TrainerSettings settings = settings_of(of, backend);
    settings.precision = precision;
    settings.loss_scale = parse_loss_scale("--loss-scale", "fixed:1024");
    const bool bf16 = precision == Precision::bf16;
    expect_right(trained(of, settings, bf16 ? bf16_tolerance : fp16_tolerance), least);
  }
  static inline const Tolerance bf16_tolerance{0.01, 0.4, 1.5, 0.07},
      fp16_tolerance{0.002, 0.25, 0.9, 0.025};
};

TEST_P(GoldenMixed, DepthEighteen) { expect_close("d18w16s32c10b8", 2 * 62 + 2 * 20 + 20); }
TEST_P(GoldenMixed, DepthFifty) { expect_close("d50w16s64c20b4", 2 * 161 + 2 * 53 + 20); }

INSTANTIATE_TEST_SUITE_P(Backends, GoldenMixed,
                         testing::Combine(testing::Values("native", "onednn"),
                                          testing::Values(Precision::bf16, Precision::fp16)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param),
                                              name(std::get<1>(info.param)));
                         });

/// The same in fp64, where nothing but another order of sums differs.
TEST(GoldenFp64, DepthEighteen) {
  const json of = golden("d18w16s32c10b8");
  TrainerSettings settings = settings_of(of, "reference");
  settings.precision = Precision::fp64;
  expect_right(trained(of, settings, Tolerance(1e-9)), 2 * 62 + 2 * 20 + 20);
}

TEST(GoldenFp64, DepthFifty) {
  const json of = golden("d50w16s64c20b4");
  TrainerSettings settings = settings_of(of, "reference");
  settings.precision = Precision::fp64;
  expect_right(trained(of, settings, Tolerance(1e-9), 2), 2 * 161 + 2 * 53 + 12);
}

TEST(GoldenMutation, OneScaledGradientIsFound) {
  const json of = golden("d18w16s32c10b8");
  const auto alone = make_serial_communicator();
  const TrainerSettings settings = settings_of(of, "native");
  const auto trainer = made(settings, *alone);
  load_random(*trainer, settings.seed);
  trainer->make_gradients();
  Executor& executor = trainer->executor();
  const Parameter& parameter = trainer->graph().parameters[17];
  const std::vector<double> gradient = read_values(executor, parameter.gradient);
  const auto wrong_of = [&](double scale, bool swapped) {
    executor.device().put(executor.tensor(parameter.gradient),
                          [&](std::int64_t first, std::span<double> out) {
                            for (std::size_t i = 0; i < out.size(); ++i) {
                              const std::size_t at = static_cast<std::size_t>(first) + i;
                              out[i] = scale * gradient[swapped ? gradient.size() - 1 - at : at];
                            }
                          });
    Comparison all(of, fp32_tolerance);
    all.gradients(trainer->graph(), executor);
    return all.wrong;
  };
  EXPECT_EQ(wrong_of(1, false), std::vector<std::string>());
  EXPECT_EQ(wrong_of(0.99, false).front(), "gradient of " + parameter.name);
  EXPECT_EQ(wrong_of(1, true),
            std::vector<std::string>{"places in the gradient of " + parameter.name});
}

/// Labels are smoothed as PyTorch smooths them.
TEST(GoldenLoss, WithLabelSmoothing) {
  const json of = golden("d18w16s32c10b8");
  const auto alone = make_serial_communicator();
  TrainerSettings settings = settings_of(of, "native");
  settings.learning.smoothing = of.at("label_smoothing");
  const auto trainer = made(settings, *alone);
  load_random(*trainer, settings.seed);
  trainer->make_gradients();
  const double smoothed = of.at("smoothed");
  EXPECT_NEAR(trainer->loss(), smoothed, 1e-5 * smoothed);
  EXPECT_GT(std::abs(trainer->loss() - static_cast<double>(of.at("loss"))), 1e-3);
}

/// The network has the initial parameters and the moving averages after one batch.
void expect_right_inference(const json& of, const std::string& backend) {
  const auto alone = make_serial_communicator();
  const TrainerSettings settings = settings_of(of, backend);
  const auto trainer = made(settings, *alone);
  load_random(*trainer, settings.seed);
  trainer->make_gradients();
  const Graph& graph = trainer->graph();
  std::vector<double> running = initial_statistics(graph);
  average(graph, 0.1, read_values(trainer->executor(), graph.batch_statistics), running);
  ExecutorSettings executor = settings.executor;
  executor.memory[graph.weights] = trainer->executor().memory(graph.weights);
  auto inference =
      Executor::make(make_inference_graph(settings.network, settings.batch, Precision::fp32),
                     executor, plugins(), *alone);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Executor>>(inference));
  Executor& of_inference = *std::get<std::unique_ptr<Executor>>(inference);
  load_random(of_inference, settings.seed);
  const auto norm_with = [&](const std::vector<double>& statistics) {
    of_inference.device().put(of_inference.tensor(of_inference.graph().batch_statistics),
                              [&](std::int64_t first, std::span<double> out) {
                                std::copy_n(statistics.begin() + first, out.size(), out.begin());
                              });
    of_inference.run(Phase::forward);
    return norm(read_logits(of_inference));
  };
  const double should = of.at("inference_norm");
  EXPECT_NEAR(norm_with(running), should, 1e-4 * should) << backend;
  EXPECT_GT(std::abs(norm_with(initial_statistics(graph)) - should), 1e-3 * should);
}

TEST(GoldenInference, UsesMovingAverages) {
  for (const char* backend : {"native", "onednn", "reference"})
    for (const char* name : {"d18w16s32c10b8", "d50w16s64c20b4"})
      if (plugins().status(backend).available) expect_right_inference(golden(name), backend);
}

}  // namespace test_resnet50_golden
}  // namespace assay
