// Single operations on the data that a network has: those of a training that diverges.

#include "models/network/node_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "models/network/graph_builder.hpp"
#include "models/network/parameters.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_node_check {

/// A pixel of a channel, from a random number in (-1, 1).
using Pixel = std::function<double(std::int64_t image, std::int64_t channel, double random)>;

/// A normalization of 256 images of one pixel, as the last stage of a small network has them.
Verification normalized(const std::string& backend, const Pixel& pixel) {
  constexpr std::int64_t images = 256, channels = 64;
  GraphBuilder builder(images, Precision::fp32, true);
  builder.norm("bn", builder.images(vector_input(channels)), NormFusion::relu);
  ExecutorSettings settings;
  settings.backends = {backend};
  const auto alone = make_serial_communicator();
  auto made = Executor::make(builder.finish(), settings, network_test::plugins(), *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&made))
    throw std::runtime_error(refusal->reason);
  Executor& executor = *std::get<std::unique_ptr<Executor>>(made);
  put_initial(executor, 1);
  const Values random(Values::Kind::mantissa, 3, "images", DataType::fp32, 0);
  executor.device().put(executor.tensor(executor.graph().images),
                        [&](std::int64_t first, std::span<double> out) {
                          random.fill(first, out);
                          for (std::size_t i = 0; i < out.size(); ++i) {
                            const std::int64_t at = first + static_cast<std::int64_t>(i);
                            out[i] = pixel(at / channels, at % channels, out[i]);
                          }
                        });
  Verification found;
  found.passed = true;
  run_checked(executor, 0, 1e6, 1, found);
  return found;
}

TEST(NodeCheck, APixelFarOutCostsAVarianceFewDigits) {
  for (const char* backend : {"reference", "native", "onednn"}) {
    if (!network_test::plugins().status(backend).available) continue;
    for (const std::int64_t far : {0, 1, 255}) {
      const auto pixel = [far](std::int64_t image, std::int64_t channel, double random) {
        return (image == far ? 1000 : random) * static_cast<double>(1 + channel);
      };
      const Verification found = normalized(backend, pixel);
      EXPECT_TRUE(found.passed) << backend << " " << far << ": " << found.reason;
      EXPECT_GT(found.checked, 256 * 64);
    }
  }
}

/// Equal terms are rounded alike, so their errors add up: in no channel beyond its bound, but in
/// all channels together beyond that of independent errors.
TEST(NodeCheck, ChannelsOfEqualPixelsAreNotRefused) {
  for (const char* backend : {"reference", "native", "onednn"}) {
    if (!network_test::plugins().status(backend).available) continue;
    for (std::int64_t seed = 1; seed <= 20; ++seed)
      for (const bool zeros : {false, true}) {
        const auto pixel = [&](std::int64_t image, std::int64_t channel, double) {
          const double value = std::sin(static_cast<double>(100 * seed + channel));
          return zeros && image % 2 == 0 ? 0 : value;
        };
        const Verification found = normalized(backend, pixel);
        EXPECT_TRUE(found.passed) << backend << " " << seed << ": " << found.reason;
      }
  }
}

}  // namespace test_node_check
}  // namespace assay
