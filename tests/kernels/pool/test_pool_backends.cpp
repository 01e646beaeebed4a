// The backends of pooling, through the plugins, over random shapes.

#include <random>

#include "core/base/error.hpp"
#include "kernels/pool/benchmark.hpp"
#include "kernels/pool/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_pool_backends {

using namespace kernel_test;

PoolShape random_shape(std::mt19937& random) {
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  PoolShape s;
  s.mb = up_to(3);
  s.ic = up_to(random() % 2 == 0 ? 150 : 5);
  s.ih = up_to(15);
  s.iw = up_to(15);
  s.kh = up_to(s.ih);
  s.kw = up_to(s.iw);
  s.sh = up_to(4);
  s.sw = up_to(4);
  s.ph = random() % static_cast<unsigned>(s.kh);
  s.pw = random() % static_cast<unsigned>(s.kw);
  s.oh = (s.ih + 2 * s.ph - s.kh) / s.sh + 1;
  s.ow = (s.iw + 2 * s.pw - s.kw) / s.sw + 1;
  while ((s.oh - 1) * s.sh - s.ph >= s.ih) --s.oh;
  while ((s.ow - 1) * s.sw - s.pw >= s.iw) --s.ow;
  return s;
}

std::map<std::string, int> verify_random(const std::string& backend, int shapes,
                                         const std::vector<std::string>& layouts) {
  std::mt19937 random(41);
  std::vector<std::string> problems;
  for (int i = 0; i < shapes; ++i) {
    const PoolShape shape = random_shape(random);
    problems.push_back(to_descriptor(shape));
    EXPECT_EQ(parse_pool(problems.back()), shape) << problems.back();
  }
  return verify_all(
      pool_benchmark(), problems,
      {{"direction", {"all"}}, {"mode", {"all"}}, {"backend", {backend}}, {"layout", layouts}});
}

TEST(PoolBackends, ReferenceHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("reference", 10, {"any", "nchw"}))
    EXPECT_EQ(count, 10 * 6 * 2) << precision;
}

TEST(PoolBackends, NativeHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("native", 20, {"any", "nhwc"}))
    EXPECT_EQ(count, 20 * 6 * 2) << precision;
}

TEST(PoolBackends, OneDnnHasFp32InBothLayouts) {
  if (!kernel_test::is_built("onednn")) GTEST_SKIP() << "onednn is not built";
  const auto had = verify_random("onednn", 6, {"any", "nchw", "nhwc"});
  EXPECT_EQ(had.at("fp32"), 6 * 6 * 3);
  EXPECT_EQ(had.at("fp64"), 0);
}

/// The problem is of a network for segmentation: the mean of an image that is not square.
TEST(PoolBackends, EachHasTheMeanOfAWholeImage) {
  const std::string image = "mb2ic40ih48iw72kh48kw72";
  EXPECT_EQ(parse_pool(image).oh * parse_pool(image).ow, 1);
  for (const char* backend : {"reference", "native", "onednn"}) {
    if (!refusal(pool_benchmark(), {{"problem", image}, {"backend", backend}}).empty()) {
      EXPECT_STREQ(backend, "onednn");  // which may not be built
      continue;
    }
    const auto had =
        verify_all(pool_benchmark(), {image},
                   {{"direction", {"all"}}, {"mode", {"average"}}, {"backend", {backend}}});
    EXPECT_EQ(had.at("fp32"), 3) << backend;
  }
}

TEST(PoolProblem, NamesAreRead) {
  EXPECT_EQ(parse_name<PoolDirection>("backward"), PoolDirection::backward);
  EXPECT_EQ(parse_name<PoolMode>("average"), PoolMode::average);
  EXPECT_THROW(parse_name<PoolDirection>("backwards"), InputError);
  EXPECT_THROW(parse_name<PoolMode>("mean"), InputError);
}

TEST(PoolProblem, DescriptorsAreReadAndWritten) {
  const PoolShape s = parse_pool("mb16ic64ih112kh3sh2ph1");
  EXPECT_EQ(s, (PoolShape{16, 64, 112, 112, 56, 56, 3, 3, 2, 2, 1, 1}));
  EXPECT_EQ(to_descriptor(s), "mb16ic64ih112kh3sh2ph1");
  EXPECT_EQ(parse_pool("mb1ic1ih112kh3sh2oh56").oh, 56);  // the last window ends outside of src
  for (const char* wrong : {"", "mb1ic1ih3", "mb1ic1ih3kh4", "mb1ic1ih3kh3ph3", "mb1ic1ih3kh2oh9",
                            "mb1ic1ih0kh1", "mb1ic1ih3kh2zz1", "mb99999999999ic99999999999ih3kh1"})
    EXPECT_THROW(parse_pool(wrong), InputError) << wrong;
}

}  // namespace test_pool_backends
}  // namespace assay
