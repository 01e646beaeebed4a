// The native backend's operations in each instruction set that the machine has, by their oracles.
// (Convolutions: test_native_conv.cpp.)
#include <gtest/gtest.h>

#include <cstdlib>

#include "assay/test_paths.hpp"
#include "core/api/communicator.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "kernels/activation/benchmark.hpp"
#include "kernels/activation/problem.hpp"
#include "kernels/dropout/benchmark.hpp"
#include "kernels/dropout/problem.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/loss/problem.hpp"
#include "kernels/norm/benchmark.hpp"
#include "kernels/pixel_loss/problem.hpp"
#include "kernels/pool/benchmark.hpp"
#include "kernels/pool/problem.hpp"
#include "kernels/resize/benchmark.hpp"
#include "kernels/resize/problem.hpp"
#include "kernels/rnn/benchmark.hpp"
#include "kernels/squared_error/problem.hpp"
#include "kernels/sum/problem.hpp"
#include "kernels/update/problem.hpp"

namespace assay {
namespace test_native_targets {

/// ctest runs each of them in a process of its own: what a plugin has chosen, it keeps.
class NativeTarget : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("ASSAY_NATIVE_TARGET", GetParam(), 1);
    const Result<Backend*> opened = plugins_.open("native");
    if (const auto* const why = std::get_if<Unsupported>(&opened)) {
      if (why->reason.find("no plugin libassay_") == std::string::npos) {
        EXPECT_NE(why->reason.find(GetParam()), std::string::npos) << why->reason;
      }
      GTEST_SKIP() << why->reason;  // left out of the build, or of another processor
    }
  }
  void TearDown() override { unsetenv("ASSAY_NATIVE_TARGET"); }

  /// All cases of a choice are right, and executed in these instructions.
  void verify(const Benchmark& benchmark, std::map<std::string, std::vector<std::string>> chosen) {
    chosen["backend"] = {"native"};
    chosen["threads"] = {"1"};
    CaseContext context{plugins_, *ranks_};
    for (const Case& one : expand(benchmark, chosen, plugins_)) {
      auto made = benchmark.prepare(one, context);
      if (const auto* const why = std::get_if<Unsupported>(&made)) FAIL() << one.id << why->reason;
      verify(*std::get<std::unique_ptr<Workload>>(made), one.id);
    }
  }

  /// The same for a problem that no program measures alone.
  void verify(const Problem& problem, std::unique_ptr<Oracle> oracle) {
    Backend& native = *std::get<Backend*>(plugins_.open("native"));
    const Options options;
    Device& device = *std::get<Device*>(native.device(options));
    auto made = native.make(problem, options, *ranks_);
    if (const auto* const why = std::get_if<Unsupported>(&made)) FAIL() << why->reason;
    verify(*make_operation_workload(problem, std::move(std::get<std::unique_ptr<Operation>>(made)),
                                    device, std::move(oracle), 0, OperationSetup{}),
           problem.canonical());
  }

  void verify(Workload& workload, const std::string& id) {
    const Verification before = workload.verify_before();
    ASSERT_TRUE(before.passed) << id << ": " << before.reason;
    const Execution execution = workload.execution();
    // Products of bf16 are beside AVX3, and have a name of their own.
    const bool pairs = execution.implementation.ends_with("_BF16");
    EXPECT_TRUE(pairs ? std::string(GetParam()) == "AVX3"
                      : execution.implementation.ends_with(GetParam()))
        << id << ": " << execution.implementation;
    EXPECT_EQ(execution.compute == "bf16", pairs) << id;
    workload.reset();
    workload.run(workload.stream());
    const Verification after = workload.verify_after();
    ASSERT_TRUE(after.passed) << id << ": " << after.reason;
  }

  const std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  Plugins plugins_{{std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"}};
};

INSTANTIATE_TEST_SUITE_P(Each, NativeTarget,
                         testing::Values("SSE4", "AVX2", "AVX3", "NEON", "SVE", "SVE2"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(NativeTarget, ComputesRecurrentNetworks) {
  verify(rnn_benchmark(), {{"problem", {"vanilla_tanh:37-6-3", "lstm:37-6-3", "gru:37-6-3"}},
                           {"direction", {"forward_inference", "bwd"}},
                           {"precision", {"fp32", "bf16", "fp16"}},
                           {"input", {"linear", "skip"}}});
}

TEST_P(NativeTarget, ComputesKernelsOfDataAnalysis) {
  verify(linalg_benchmark(), {{"problem",
                               {"syrk:n210d37", "moments:n210d37", "kmeans_assign:n210d37k19",
                                "hinge:n210d37", "hinge_hessian:n210d37"}},
                              {"precision", {"fp64", "fp32"}}});
}

TEST_P(NativeTarget, ComputesNormAndPool) {
  verify(norm_benchmark(), {{"problem", {"mb2ic37ih6"}},
                            {"direction", {"forward_training", "backward"}},
                            {"precision", {"fp64", "fp32", "bf16", "fp16"}}});
  verify(pool_benchmark(), {{"problem", {"mb2ic37ih6kh3sh2ph1"}},
                            {"direction", list_names<PoolDirection>()},
                            {"mode", list_names<PoolMode>()},
                            {"precision", {"fp64", "fp32", "bf16", "fp16"}}});
}

TEST_P(NativeTarget, ComputesActivationsAndDropout) {
  verify(activation_benchmark(), {{"problem", {"mb2ic37ih6"}},
                                  {"direction", list_names<ActivationDirection>()},
                                  {"function", list_names<ActivationFunction>()},
                                  {"precision", {"fp64", "fp32", "bf16", "fp16"}}});
  verify(dropout_benchmark(), {{"problem", {"mb2ic37ih6p0.3"}},
                               {"direction", list_names<DropoutDirection>()},
                               {"precision", {"fp64", "fp32", "bf16", "fp16"}}});
}

TEST_P(NativeTarget, ComputesResizing) {
  verify(resize_benchmark(), {{"problem", {"mb2ic37ih6iw5oh13ow19"}},
                              {"direction", list_names<ResizeDirection>()},
                              {"coordinates", list_names<ResizeCoordinates>()},
                              {"layout", {"nchw", "nhwc"}},
                              {"precision", {"fp64", "fp32", "bf16", "fp16"}}});
}

TEST_P(NativeTarget, ComputesLossUpdateAndSum) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16}) {
    const LossProblem loss({5, 131, 0.1}, LossPass::training, precision);
    verify(loss, make_loss_oracle(loss));
    const PixelLossProblem pixels({2, 3, 9, 15}, PixelLossPass::training, precision);
    verify(pixels, make_pixel_loss_oracle(pixels));
    const SquaredErrorProblem errors({5, 131}, SquaredErrorPass::training, precision);
    verify(errors, make_squared_error_oracle(errors));
    const UpdateProblem update({UpdateRule::lars, 0.9, 0.01, 0.05, {{1000}, {37}}}, precision);
    verify(update, make_update_oracle(update));
    const SumProblem sum(1001, precision, false);
    verify(sum, make_sum_oracle(sum));
  }
}

}  // namespace test_native_targets
}  // namespace assay
