// Networks of assay-train against PyTorch's: golden files of golden.py, computed in fp64 from the
// same initial parameters and samples.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/random.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_train_golden {

using nlohmann::json;

json golden(const std::string& name) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/models/train/" + name + ".json");
  if (!file) throw std::runtime_error("no golden file " + name);
  return json::parse(file);
}

Network network_of(const std::string& descriptor) {
  const NamedNetwork of = find_named_network(descriptor);
  return of.family->network(of.family->canonical(of.fields));
}

class TrainGolden : public testing::TestWithParam<const char*> {};

/// In fp32 errors are those of PyTorch's fp32, at most ten times.
void expect_golden(const json& of, const std::string& backend, Precision precision,
                   double of_gradients, double of_losses) {
  TrainerSettings settings = network_test::small_settings(backend);
  settings.network = network_of(of.at("network"));
  settings.precision = precision;
  settings.batch = of.at("batch");
  settings.seed = of.at("seed");
  settings.learning.momentum = of.at("momentum");
  settings.learning.weight_decay = of.at("weight_decay");
  const auto alone = make_serial_communicator();
  const auto trainer = network_test::made(settings, *alone);
  load_random(*trainer, settings.seed);
  trainer->prepare();
  trainer->make_gradients();
  ASSERT_EQ(trainer->graph().parameters.size(), of.at("gradients").size());
  for (const Parameter& parameter : trainer->graph().parameters) {
    const std::vector<double> is = read_values(trainer->executor(), parameter.gradient);
    std::vector<double> others(is.size());
    Values(Values::Kind::mantissa, of.at("seed"), parameter.name + ".gradient", DataType::fp32, 0)
        .fill(0, others);
    double squares = 0, product = 0;
    for (std::size_t i = 0; i < is.size(); ++i) {
      squares += is[i] * is[i];
      product += is[i] * others[i];
    }
    const json& should = of.at("gradients").at(parameter.name);
    const double norm = should[0];
    EXPECT_NEAR(std::sqrt(squares), norm, of_gradients * norm) << parameter.name;
    EXPECT_NEAR(product, should[1].get<double>(), of_gradients * norm) << parameter.name;
  }
  for (const double loss : of.at("losses")) {
    trainer->step(of.at("learning_rate"));
    EXPECT_NEAR(trainer->loss(), loss, of_losses * loss);
  }
}

TEST_P(TrainGolden, LossesAndGradientsArePyTorchs) {
  const json of = golden(GetParam());
  const json& fp32 = of.at("fp32");
  expect_golden(of, "reference", Precision::fp64, 1e-11, 1e-11);
  for (const char* backend : {"native", "onednn"})
    expect_golden(of, backend, Precision::fp32,
                  10 * std::max(fp32.at("gradients").get<double>(), 1e-6),
                  10 * std::max(fp32.at("losses").get<double>(), 1e-6));
}

/// These are networks of vectors: rectifiers of planes flip in 16 bits.
class VectorsGolden : public TrainGolden {};

TEST_P(VectorsGolden, StepsInSixteenBitsAreNear) {
  const json of = golden(GetParam());
  expect_golden(of, "native", Precision::bf16, 0.1, 0.02);
}

constexpr const char* vectors[] = {"mlp", "candle-p1b1", "candle-p1b2"};
INSTANTIATE_TEST_SUITE_P(Vectors, TrainGolden, testing::ValuesIn(vectors));
INSTANTIATE_TEST_SUITE_P(Vectors, VectorsGolden, testing::ValuesIn(vectors));
INSTANTIATE_TEST_SUITE_P(Planes, TrainGolden,
                         testing::Values("tiramisu", "deeplab", "deeplab-wide", "deepcam"));

}  // namespace test_train_golden
}  // namespace assay
