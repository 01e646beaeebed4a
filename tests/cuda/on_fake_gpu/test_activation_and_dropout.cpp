// Activations and dropout by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/activation/benchmark.hpp"
#include "kernels/activation/problem.hpp"
#include "kernels/dropout/benchmark.hpp"
#include "kernels/dropout/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_activation_and_dropout {

using namespace kernel_test;

constexpr const char* precisions[] = {"fp64", "fp32", "bf16", "fp16"};

/// Channels in whole packs and not; one chunk of rows, and so many that sums have several stages.
TEST(ActivationOnGpu, HasEveryDirectionFunctionAndPrecision) {
  for (const char* problem : {"mb3ic24ih40iw31", "mb5ic33", "mb2ic8ih5iw3", "mb1ic1"})
    for (const std::string& direction : list_names<ActivationDirection>())
      for (const std::string& function : list_names<ActivationFunction>())
        for (const char* bias : {"channel", "none"})
          for (const char* precision : precisions) {
            const bool none = function == "identity" && bias == std::string("none");
            const bool had = verify(activation_benchmark(), {{"problem", problem},
                                                             {"direction", direction},
                                                             {"function", function},
                                                             {"bias", bias},
                                                             {"precision", precision},
                                                             {"backend", "cuda"},
                                                             {"device", "gpu"},
                                                             {"threads", "1"}});
            ASSERT_TRUE(had != none && !HasFailure()) << problem << direction << function << bias;
          }
}

TEST(DropoutOnGpu, HasEveryDirectionAndPrecision) {
  for (const char* problem : {"mb3ic24ih7p0.3k5000000000", "mb5ic33", "mb2ic2ih5iw3p0", "mb1ic1"})
    for (const std::string& direction : list_names<DropoutDirection>())
      for (const char* precision : precisions) {
        const bool had = verify(dropout_benchmark(), {{"problem", problem},
                                                      {"direction", direction},
                                                      {"precision", precision},
                                                      {"backend", "cuda"},
                                                      {"device", "gpu"},
                                                      {"threads", "1"}});
        ASSERT_TRUE(had && !HasFailure()) << problem << direction << precision;
      }
}

}  // namespace test_activation_and_dropout
}  // namespace assay
