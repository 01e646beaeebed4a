// Convolutions with their normalizations, by graphs of the fake cuDNN, which computes what their
// descriptors say.
#include <array>
#include <cstdlib>

#include "fake_gpu.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/conv_norm/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_conv_norm {

ConvNormProblem problem_of(const char* shape, NormFusion fusion, Precision precision) {
  const ConvShape s = parse_conv(shape);
  return {std::make_shared<ConvProblem>(s, ConvDirection::forward, precision),
          std::make_shared<NormProblem>(
              NormShape{s.mb, s.oc, s.oh, s.ow}, NormDirection::forward_inference, fusion,
              precision == Precision::tf32 ? Precision::fp32 : precision)};
}

constexpr std::array fusions{NormFusion::none, NormFusion::relu, NormFusion::add_relu};

/// "" if it is right; why it is wrong or not computed.
std::string fault_of(const ConvNormProblem& problem) {
  auto opened = kernel_test::plugins().open("cuda");
  if (const auto* const why = std::get_if<Unsupported>(&opened)) return why->reason;
  Options options;
  Device& device = *std::get<Device*>(std::get<Backend*>(opened)->device(options));
  auto made = std::get<Backend*>(opened)->make(problem, options, kernel_test::alone());
  if (const auto* const why = std::get_if<Unsupported>(&made)) return why->reason;
  const auto workload =
      make_operation_workload(problem, std::move(std::get<std::unique_ptr<Operation>>(made)),
                              device, make_conv_norm_oracle(problem), 0, OperationSetup{});
  const Verification found = workload->verify_before();
  return found.passed ? "" : "wrong: " + found.reason;
}

/// A real cuDNN is tested with the fusions that it has; the fake one has all.
TEST(ConvNorm, IsRightInEveryFusionAndPrecision) {
  for (const char* shape : {"mb2ic5ih9oc6oh9kh3ph1", "mb2ic8ih8oc16oh4kh1sh2"})
    for (const NormFusion fusion : fusions)
      for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
        const ConvNormProblem problem = problem_of(shape, fusion, precision);
        if (fake_gpu::counter == nullptr) {
          EXPECT_FALSE(fault_of(problem).starts_with("wrong: ")) << problem.canonical();
          continue;
        }
        EXPECT_TRUE(kernel_test::verify(problem, make_conv_norm_oracle(problem), "cuda", 1))
            << problem.canonical() << " " << name(precision);
      }
}

TEST(ConvNorm, APartThatIsLeftOutIsFound) {
  ONLY_ON_THE_FAKE_GPU();
  for (const NormFusion fusion : fusions) {
    const int parts = fusion == NormFusion::none ? 3 : fusion == NormFusion::relu ? 4 : 5;
    for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16})
      for (int part = 0; part <= parts; ++part) {
        setenv("FAKE_CUDNN_LEAVES_OUT", std::to_string(part).c_str(), 1);
        const std::string fault = fault_of(problem_of("mb2ic5ih9oc6oh9kh3ph1", fusion, precision));
        unsetenv("FAKE_CUDNN_LEAVES_OUT");
        EXPECT_EQ(fault.starts_with("wrong: "), part < parts)
            << name(fusion) << " " << name(precision) << " without part " << part << ": " << fault;
      }
  }
}

TEST(ConvNorm, IsRefusedByName) {
  ONLY_ON_THE_FAKE_GPU();
  const auto fault = [](Precision precision) {
    return fault_of(problem_of("mb2ic5ih9oc6oh9kh3ph1", NormFusion::relu, precision));
  };
  EXPECT_NE(fault(Precision::fp32).find("on tensor cores"), std::string::npos);
  setenv("FAKE_CUDNN_REFUSES", "fusion", 1);
  EXPECT_NE(fault(Precision::fp16).find("no fusion here"), std::string::npos);
  unsetenv("FAKE_CUDNN_REFUSES");
}

TEST(ConvNorm, OtherProblemsAreNoParts) {
  const auto conv = std::make_shared<ConvProblem>(parse_conv("mb2ic5ih9oc6oh9kh3ph1"),
                                                  ConvDirection::forward, Precision::fp16);
  const auto norm = [](std::int64_t channels, NormDirection direction) {
    return std::make_shared<NormProblem>(NormShape{2, channels, 9, 9}, direction, NormFusion::none,
                                         Precision::fp16);
  };
  EXPECT_NO_THROW(ConvNormProblem(conv, norm(6, NormDirection::forward_inference)));
  EXPECT_THROW(ConvNormProblem(conv, norm(5, NormDirection::forward_inference)), std::logic_error);
  EXPECT_THROW(ConvNormProblem(conv, norm(6, NormDirection::forward_training)), std::logic_error);
}

}  // namespace test_conv_norm
}  // namespace assay
