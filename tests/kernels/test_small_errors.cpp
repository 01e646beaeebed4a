// Small errors of all elements that are found: each of these passed while the bounds were wider.
#include <gtest/gtest.h>

#include "kernels/conv/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/rnn/problem.hpp"
#include "tests/kernels/broken_operation.hpp"
#include "tests/kernels/trial.hpp"

namespace assay {
namespace test_small_errors {

/// An operation that says of itself what it does not do.
class Claiming final : public Operation {
 public:
  Claiming(std::unique_ptr<Operation> inner, Execution claims)
      : inner_(std::move(inner)), claims_(std::move(claims)) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override { inner_->bind(tensors); }
  void prologue(Stream& stream) override { inner_->prologue(stream); }
  void run(Stream& stream) override { inner_->run(stream); }
  Execution execution() const override { return claims_; }

 private:
  std::unique_ptr<Operation> inner_;
  Execution claims_;
};

/// The findings of the checks before timing about a backend's operation with a fault. `tile`: it
/// says that it was a Winograd convolution of this tile in fp32.
Verification judge(const Problem& problem, std::unique_ptr<Oracle> oracle,
                   const std::string& backend, const std::string& algorithm, broken::Fault fault,
                   int tile = 0) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static const auto ranks = make_serial_communicator();
  Backend& opened = *std::get<Backend*>(plugins.open(backend));
  Options options;
  options.settings["algorithm"] = algorithm;
  Device& device = *std::get<Device*>(opened.device(options));
  auto operation = std::get<std::unique_ptr<Operation>>(opened.make(problem, options, *ranks));
  Execution claims = operation->execution();
  if (tile > 0) {
    claims.algorithm = "winograd";
    claims.compute = claims.accumulate = "fp32";
    claims.tile = tile;
  }
  operation =
      std::make_unique<broken::BrokenOperation>(std::move(operation), device, std::move(fault));
  operation = std::make_unique<Claiming>(std::move(operation), std::move(claims));
  const auto workload = make_operation_workload(problem, std::move(operation), device,
                                                std::move(oracle), 0, OperationSetup{});
  return workload->verify_before();
}

broken::Fault scaled(double by, const std::string& output = "") {
  broken::Fault fault;
  fault.scale = by;
  fault.output = output;
  return fault;
}

void expect_found_in_rnn(const std::string& shape, RnnDirection direction, Precision precision,
                         const std::string& backend, double by, const std::string& output = "") {
  const RnnProblem problem(parse_rnn(shape), RnnInput::linear, direction, precision);
  const std::string what = backend + " " + shape + " " + name(direction) + " " +
                           std::string(name(precision)) + " times " + std::to_string(by);
  const Verification right = judge(problem, make_rnn_oracle(problem), backend, "auto", {}),
                     wrong = judge(problem, make_rnn_oracle(problem), backend, "auto",
                                   scaled(by, output));
  EXPECT_TRUE(right.passed) << what << ": " << right.reason;
  EXPECT_TRUE(wrong.wrong()) << what;
}

/// Values that stay fp32 from the tensors of 16 bits to the results have the errors of fp32.
TEST(SmallErrors, ShowInRecurrentNetworksThatStoreNothingIn16Bits) {
  for (const char* backend : {"native", "reference"})
    for (const char* cell : {"vanilla_relu", "vanilla_tanh", "lstm", "gru", "gru_lbr"})
      for (const char* shape : {":64-4-8", ":24-3-6-l2-bi"}) {
        const std::string text = cell + std::string(shape);
        for (const RnnDirection direction :
             {RnnDirection::bwd, RnnDirection::bwd_data, RnnDirection::bwd_weights}) {
          expect_found_in_rnn(text, direction, Precision::bf16, backend, 1 + 1e-3);
          expect_found_in_rnn(text, direction, Precision::bf16, backend, 1 - 1e-5);
          expect_found_in_rnn(text, direction, Precision::fp16, backend, 1 + 1e-3);
        }
        expect_found_in_rnn(text, RnnDirection::forward_training, Precision::fp16, backend,
                            1 + 1e-3);
      }
}

/// The states alone are rounded to bf16 as they are multiplied: a single step has none before it.
TEST(SmallErrors, ShowInCellStatesOfBf16) {
  for (const auto& [shape, by] : {std::pair("lstm:64-4-1", 1 + 1e-4), {"lstm:64-4-8", 1 + 6e-3}})
    expect_found_in_rnn(shape, RnnDirection::forward_training, Precision::bf16, "native", by,
                        "dst_iter_c");
}

/// The norm's bound is that of a typical output of a tile, not of the least accurate one.
TEST(SmallErrors, ShowInWinogradConvolution) {
  const ConvProblem problem(parse_conv("mb1ic64ih28oc32oh28kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  for (const double by : {1.0, 1 + 9e-6})
    EXPECT_EQ(
        judge(problem, make_conv_oracle(problem), "native", "winograd_4x4", scaled(by)).passed,
        by == 1)
        << by;
}

/// Direct sums of two bf16 parts each (16 bits), which ask for the bounds of Winograd. Larger
/// transforms of more channels have errors that are as large (docs/method-conv.md).
TEST(SmallErrors, ShowBf16x2BehindAClaimedTile) {
  broken::Fault bf16x2;
  bf16x2.operand_bits = 16;
  for (const char* shape : {"mb2ic16ih14oc16oh14kh3ph1", "mb1ic64ih28oc32oh28kh3ph1"})
    for (const int tile : {2, 4, 6}) {
      const ConvProblem problem(parse_conv(shape), ConvDirection::forward, Precision::fp32);
      const auto oracle = [&] { return make_conv_oracle(problem); };
      EXPECT_TRUE(judge(problem, oracle(), "reference", "auto", {}, tile).passed) << shape;
      EXPECT_EQ(judge(problem, oracle(), "reference", "auto", bf16x2, tile).passed, tile == 6)
          << shape << " " << tile;
    }
}

/// Channels err independently, so that the norm of all elements averages their errors.
TEST(SmallErrors, AreAveragedOverChannelsOfANormalization) {
  const auto bounds = [](NormDirection direction, const std::string& output) {
    const NormProblem problem(parse_norm("mb8ic64ih14"), direction, NormFusion::none,
                              Precision::fp32);
    Inputs inputs;
    const auto oracle = make_norm_oracle(problem);
    double most = 0, norm = 0;
    for (const TensorSpec& spec : problem.tensors())
      if (spec.role == Role::input) {
        const Values values(Values::Kind::mantissa, 3, spec.name, spec.type, 0);
        inputs.emplace(spec.name, oracle->nonnegative(spec) ? values.magnitudes() : values);
      }
    for (const TensorSpec& spec : problem.tensors()) {
      if (spec.name != output) continue;
      std::vector<std::int64_t> all(static_cast<std::size_t>(spec.elements()));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
      std::vector<Expected> expected(all.size());
      oracle->expect(spec, inputs, {}, false, all, expected);
      for (const Expected& of : expected) {
        most += of.max_bound * of.max_bound;
        norm += of.rms_bound * of.rms_bound;
      }
    }
    return std::sqrt(norm / most);
  };
  EXPECT_LT(bounds(NormDirection::forward_training, "dst"), 0.4);
  EXPECT_GT(bounds(NormDirection::forward_training, "dst"), 0.05);
  EXPECT_LT(bounds(NormDirection::backward, "diff_src"), 0.5);
}

}  // namespace test_small_errors
}  // namespace assay
