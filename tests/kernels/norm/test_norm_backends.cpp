// The backends of batch normalization, through the plugins, over random shapes.

#include <random>

#include "kernels/norm/benchmark.hpp"
#include "kernels/norm/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_norm_backends {

using namespace kernel_test;

std::map<std::string, int> verify_random(const std::string& backend, int shapes,
                                         const std::vector<std::string>& layouts) {
  std::mt19937 random(31);
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<std::string> problems;
  // A sum of few channels can be too close to zero to tell precisions apart.
  for (int i = 0; i < shapes; ++i)
    problems.push_back(
        to_descriptor(NormShape{up_to(3), 16 + up_to(40), 2 + up_to(20), up_to(20)}));
  return verify_all(
      norm_benchmark(), problems,
      {{"direction", {"all"}}, {"fusion", {"all"}}, {"backend", {backend}}, {"layout", layouts}});
}

TEST(NormBackends, ReferenceHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("reference", 6, {"any", "nchw"}))
    EXPECT_EQ(count, 6 * 9 * 2) << precision;
}

TEST(NormBackends, NativeHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("native", 8, {"any", "nhwc"}))
    EXPECT_EQ(count, 8 * 9 * 2) << precision;
}

TEST(NormBackends, OneDnnHasFp32InBothLayouts) {
  if (!kernel_test::is_built("onednn")) GTEST_SKIP() << "onednn is not built";
  const auto had = verify_random("onednn", 4, {"any", "nchw", "nhwc"});
  EXPECT_EQ(had.at("fp32"), 4 * 9 * 3);
  EXPECT_EQ(had.at("fp64"), 0);
}

TEST(NormBackends, RefuseWhatTheyHaveNot) {
  const std::map<std::string, std::string> native{{"problem", "mb1ic1ih1"}, {"backend", "native"}};
  for (const auto& [axis, value, words] :
       {std::tuple{"layout", "nchw", "Use any or nhwc"}, std::tuple{"device", "gpu", "Use cpu"}}) {
    auto axes = native;
    axes[axis] = value;
    EXPECT_NE(refusal(norm_benchmark(), axes).find(words), std::string::npos) << axis;
  }
}

}  // namespace test_norm_backends
}  // namespace assay
