// The form of networks that is compared with fp64 if they are too large for it.
#include "models/network/parity_form.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/network/network_family.hpp"
#include "models/network/parity.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_parity_form {

constexpr double all = 1e300;

Network network(const std::string& descriptor) {
  const NamedNetwork of = find_named_network(descriptor);
  return of.family->network(of.family->canonical(of.fields));
}

Graph gradients(const Network& network, std::int64_t images, Precision precision) {
  return make_gradient_graph(network, images, precision, {});
}

ParityForm form(const Network& network, ParityLimits limits,
                std::optional<Precision> tried = Precision::fp32) {
  return parity_form(network, parity_batch, gradients, tried, limits);
}

TEST(ParityForm, UsualNetworksAreComparedAsAWhole) {
  ParityLimits limits;
  limits.bytes = all;
  for (const Network& of : {make_resnet({50, 64, 224, 1000}), make_resnet({18, 64, 224, 1000}),
                            network("mlp"), network("candle-p1b2"), network("candle-p1b1")}) {
    const ParityForm found = form(of, limits);
    EXPECT_TRUE(found.whole()) << of.family << found.smaller;
    EXPECT_EQ(found.images, parity_batch(of)) << of.family;
  }
}

TEST(ParityForm, LargePlanesAreHalvedUntilTheyFit) {
  for (const char* name : {"tiramisu", "deeplab"}) {
    const Network of = network(name);
    const ParityForm found = form(of, {1e11, all});
    EXPECT_FALSE(found.whole());
    EXPECT_NE(found.smaller.find(found.network.descriptor), std::string::npos) << found.smaller;
    const Graph pass = gradients(found.network, found.images, Precision::fp64);
    EXPECT_LE(pass.flops(), 1e11) << name;
    EXPECT_GT(pass.flops(), 1e10) << name;
    const Graph whole = gradients(of, 1, Precision::fp64);
    ASSERT_EQ(pass.parameters.size(), whole.parameters.size());
    for (std::size_t i = 0; i < pass.parameters.size(); ++i)
      EXPECT_EQ(pass.parameters[i].dims, whole.parameters[i].dims) << pass.parameters[i].name;
  }
}

/// With batch normalization of one number of an image, it has to be 32 images.
TEST(ParityForm, TheSmallestFormIsTheLastResort) {
  const Network of = network("deepcam");
  EXPECT_EQ(form(of, {1e11, all}).network.descriptor, of.make_small().descriptor);
  const Network resnet = make_resnet({18, 8, 32, 10});
  const ParityForm found = form(resnet, {1, all});
  EXPECT_EQ(found.network.descriptor, resnet.make_small().descriptor);
  EXPECT_EQ(found.images, parity_batch(found.network));
}

TEST(ParityForm, OneImageIsEnoughWithoutBatchStatistics) {
  const Network of = network("mlp");
  const double flops = gradients(of, 1, Precision::fp64).flops();
  const ParityForm found = form(of, {1.5 * flops, all});
  EXPECT_TRUE(found.whole());
  EXPECT_EQ(found.images, 1);
}

TEST(ParityForm, MemoryThatIsNotThereIsNotAskedFor) {
  const Network of = network("candle-p1b1");
  // Weights and gradients in fp64 and in fp32, but no velocities.
  double parameters = 0;
  for (const Parameter& one : gradients(of, 1, Precision::fp32).parameters)
    parameters += static_cast<double>(one.elements());
  EXPECT_TRUE(form(of, {all, 34 * parameters}).whole());
  EXPECT_TRUE(form(of, {all, 26 * parameters}, std::nullopt).whole());  // the other on a GPU
  const ParityForm found = form(of, {all, 24 * parameters});
  EXPECT_EQ(found.network.descriptor, of.make_small().descriptor);
  EXPECT_NE(found.smaller.find("GiB"), std::string::npos) << found.smaller;
}

TEST(ParityForm, RowsSayWhatWasCompared) {
  TrainerSettings settings = network_test::small_settings("native");
  settings.network = make_resnet({18, 4, 64, 5});
  const Verification whole = compare_with_reference(settings, network_test::plugins());
  EXPECT_TRUE(whole.passed) << whole.reason;
  EXPECT_EQ(whole.reference.find("the network in fp64"), 0U) << whole.reference;
  const Verification small = compare_with_reference(settings, network_test::plugins(), {1e3, all});
  EXPECT_TRUE(small.passed) << small.reason;
  EXPECT_EQ(small.reference.find("the network's form d18w8s32c10 (the whole has"), 0U)
      << small.reference;
  EXPECT_GT(small.checked, 10000);
}

TEST(Parity, OutputsAreJudgedByTheirDeviation) {
  std::vector<double> should, mean, rounded;
  for (int i = 0; i < 1000; ++i) {
    should.push_back(0.5 + 0.01 * std::sin(i));
    mean.push_back(0.5);
    rounded.push_back(round_to(DataType::bf16, should.back()));
  }
  // 5 % of the 2-norm would let a network pass that computes nothing.
  EXPECT_LT(relative_difference(mean, should), 0.02);
  EXPECT_GT(relative_to_deviation(mean, should, DataType::bf16), 0.7);
  EXPECT_NEAR(relative_to_deviation(mean, should, DataType::fp32), 1, 1e-3);
  EXPECT_EQ(relative_to_deviation(rounded, should, DataType::bf16), 0);
  should.front() = NAN;
  EXPECT_FALSE(relative_to_deviation(mean, should, DataType::bf16) <= 1);
}

}  // namespace test_parity_form
}  // namespace assay
