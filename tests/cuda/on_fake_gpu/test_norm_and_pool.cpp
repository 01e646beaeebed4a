// Batch normalization and pooling by our own kernels, on a fake GPU that runs their threads on the
// host.

#include <random>

#include "kernels/norm/benchmark.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/pool/benchmark.hpp"
#include "kernels/pool/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_norm_and_pool {

using namespace kernel_test;

constexpr const char* precisions[] = {"fp64", "fp32", "bf16", "fp16"};

/// Channels in whole packs and not, one chunk of rows, and so many that sums have several stages.
TEST(NormOnGpu, HasEveryDirectionFusionAndPrecision) {
  std::mt19937 random(31);
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<NormShape> shapes{{3, 24, 40, 31}, {1, 33, 5, 4}};
  for (int i = 0; i < 2; ++i)
    shapes.push_back({up_to(3), 16 + up_to(40), 2 + up_to(20), up_to(20)});
  for (const NormShape& shape : shapes)
    for (const std::string& direction : list_names<NormDirection>())
      for (const std::string& fusion : list_names<NormFusion>())
        for (const char* precision : precisions) {
          const bool had = verify(norm_benchmark(), {{"problem", to_descriptor(shape)},
                                                     {"direction", direction},
                                                     {"fusion", fusion},
                                                     {"precision", precision},
                                                     {"backend", "cuda"},
                                                     {"device", "gpu"},
                                                     {"threads", "1"}});
          ASSERT_TRUE(had && !HasFailure()) << to_descriptor(shape) << direction << fusion;
        }
}

/// Windows that overlap, that leave pixels out, that differ in height and width, and the whole
/// plane.
TEST(PoolOnGpu, HasEveryDirectionModeAndPrecision) {
  for (const char* problem : {"mb2ic64ih12kh3sh2ph1", "mb1ic5ih9kh2sh3", "mb2ic17ih7kh7",
                              "mb1ic8ih9iw6oh5ow3kh3kw4sh2sw1ph1pw0", "mb1ic8ih10oh5kh3sh2ph1"})
    for (const std::string& direction : list_names<PoolDirection>())
      for (const std::string& mode : list_names<PoolMode>())
        for (const char* precision : precisions) {
          const bool had = verify(pool_benchmark(), {{"problem", problem},
                                                     {"direction", direction},
                                                     {"mode", mode},
                                                     {"precision", precision},
                                                     {"backend", "cuda"},
                                                     {"device", "gpu"},
                                                     {"threads", "1"}});
          ASSERT_TRUE(had && !HasFailure()) << problem << direction << mode;
        }
}

TEST(NormOnGpu, RefusesWhatItHasNot) {
  for (const auto& [axis, value, words] : {std::tuple{"layout", "nchw", "Use any or nhwc"},
                                           std::tuple{"device", "cpu", "Use --device gpu"}}) {
    std::map<std::string, std::string> axes{
        {"problem", "mb1ic1ih1"}, {"backend", "cuda"}, {"device", "gpu"}};
    axes[axis] = value;
    EXPECT_NE(refusal(norm_benchmark(), axes).find(words), std::string::npos)
        << refusal(norm_benchmark(), axes);
  }
}

}  // namespace test_norm_and_pool
}  // namespace assay
