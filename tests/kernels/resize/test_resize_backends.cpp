// The backends of resizing, through the plugins, over random shapes.

#include <random>

#include "core/base/error.hpp"
#include "kernels/resize/benchmark.hpp"
#include "kernels/resize/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_resize_backends {

using namespace kernel_test;

/// Shapes that grow, shrink and keep their size, an image pooled to one pixel, and single channels.
std::vector<std::string> shapes(int count) {
  std::mt19937 random(44);
  const auto up_to = [&](unsigned most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<std::string> all{"mb2ic37ih1oh12ow18", "mb1ic3ih12iw18oh48ow72", "mb1ic300ih2oh4",
                               "mb1ic5ih9iw16oh9ow16"};
  while (all.size() < static_cast<std::size_t>(count)) {
    const ResizeShape shape{
        up_to(3), up_to(random() % 2 == 0 ? 150 : 5), up_to(14), up_to(14), up_to(30), up_to(30)};
    all.push_back(to_descriptor(shape));
    EXPECT_EQ(parse_resize(all.back()), shape) << all.back();
  }
  return all;
}

std::map<std::string, int> verify_random(const std::string& backend, int count,
                                         const std::vector<std::string>& layouts) {
  return verify_all(resize_benchmark(), shapes(count),
                    {{"direction", {"all"}},
                     {"coordinates", {"all"}},
                     {"backend", {backend}},
                     {"layout", layouts}});
}

TEST(ResizeBackends, ReferenceHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("reference", 12, {"any", "nchw"}))
    EXPECT_EQ(count, 12 * 4 * 2) << precision;
}

TEST(ResizeBackends, NativeHasEveryPrecisionInBothLayouts) {
  for (const auto& [precision, count] : verify_random("native", 20, {"any", "nchw", "nhwc"}))
    EXPECT_EQ(count, 20 * 4 * 3) << precision;
}

TEST(ResizeBackends, OneDnnHasHalfPixelsInBothLayouts) {
  if (!kernel_test::is_built("onednn")) GTEST_SKIP() << "onednn is not built";
  const auto had = verify_random("onednn", 14, {"any", "nchw", "nhwc"});
  EXPECT_EQ(had.at("fp32"), 14 * 2 * 3);
  EXPECT_EQ(had.at("fp64"), 0);
  EXPECT_NE(
      refusal(resize_benchmark(),
              {{"problem", "mb1ic1ih1oh1"}, {"backend", "onednn"}, {"coordinates", "aligned"}})
          .find("half_pixel"),
      std::string::npos);
}

TEST(ResizeProblem, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(parse_resize("mb2ic256ih24iw36oh96ow144"), (ResizeShape{2, 256, 24, 36, 96, 144}));
  EXPECT_EQ(to_descriptor(parse_resize("oh4ih2ic3mb1ow4")), "mb1ic3ih2oh4");
  for (const char* wrong : {"", "mb1ic1ih3", "mb1ic1ih3oh0", "mb1ic1ih99999999oh1",
                            "mb1ic1ih3oh4kh1", "mb999999999ic999999999ih9oh9"})
    EXPECT_THROW(parse_resize(wrong), InputError) << wrong;
  EXPECT_THROW(parse_name<ResizeDirection>("forwards"), InputError);
  EXPECT_THROW(parse_name<ResizeCoordinates>("corners"), InputError);
}

}  // namespace test_resize_backends
}  // namespace assay
