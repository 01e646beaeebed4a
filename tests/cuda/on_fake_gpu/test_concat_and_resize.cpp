// Concatenation and resizing by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/concat/benchmark.hpp"
#include "kernels/resize/benchmark.hpp"
#include "trial.hpp"

namespace assay {
namespace test_concat_and_resize {

using namespace kernel_test;

std::map<std::string, int> verify_on_gpu(const OperationBenchmark& benchmark,
                                         const std::vector<std::string>& problems,
                                         std::map<std::string, std::vector<std::string>> axes) {
  axes["backend"] = {"cuda"};
  axes["device"] = {"gpu"};
  return verify_all(benchmark, problems, std::move(axes));
}

/// Channels in whole packs and not, and the most tensors.
TEST(ConcatOnGpu, HasEveryDirectionAndPrecision) {
  const auto had =
      verify_on_gpu(concat_benchmark(),
                    {"mb2ca64cb16ih5iw7", "mb1ca3cb8cc1ih4", "mb2ca8cb8cc8cd8ce8cf8cg8ch16ih3"},
                    {{"direction", {"all"}}});
  for (const auto& [precision, count] : had) EXPECT_EQ(count, 3 * 2) << precision;
}

/// Planes that grow, shrink, and have one pixel on either side.
TEST(ResizeOnGpu, HasEveryDirectionPlaceAndPrecision) {
  const auto had = verify_on_gpu(resize_benchmark(),
                                 {"mb2ic16ih6iw9oh12ow18", "mb1ic5ih9iw4oh4ow11", "mb1ic8ih1oh7ow3",
                                  "mb1ic8ih5oh1", "mb1ic3ih2iw7oh9ow7"},
                                 {{"direction", {"all"}}, {"coordinates", {"all"}}});
  for (const auto& [precision, count] : had) EXPECT_EQ(count, 5 * 4) << precision;
}

}  // namespace test_concat_and_resize
}  // namespace assay
