// assay-stream by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/stream/benchmark.hpp"
#include "trial.hpp"

namespace assay {
namespace test_stream {

bool verify_stream(const std::string& problem, const char* precision, const char* algorithm) {
  return kernel_test::verify(stream_benchmark(), {{"problem", problem},
                                                  {"precision", precision},
                                                  {"algorithm", algorithm},
                                                  {"backend", "cuda"},
                                                  {"device", "gpu"}});
}

/// Less than a pack, packs with and without a rest, and more packs than threads.
TEST(StreamOnGpu, MovesEveryElementWithBothKindsOfStores) {
  for (const char* move : {"copy", "scale", "add", "triad"})
    for (const char* precision : {"fp64", "fp32"})
      for (const char* algorithm : {"regular", "nontemporal"})
        for (const char* n : {"1", "3", "4", "5", "4096", "60001", "120003"})
          EXPECT_TRUE(verify_stream(move + std::string("_n") + n, precision, algorithm))
              << move << precision << algorithm << n;
}

TEST(StreamOnGpu, AddsEveryElementInEveryPass) {
  for (const char* precision : {"fp64", "fp32"})
    for (const char* n : {"4096", "60001", "120003"})
      EXPECT_TRUE(verify_stream(std::string("read_n") + n, precision, "auto")) << precision << n;
}

TEST(StreamOnGpu, VisitsEveryLine) {
  for (const char* lines : {"2", "3", "1023"})
    EXPECT_TRUE(verify_stream(std::string("latency_n") + lines, "fp64", "auto")) << lines;
}

}  // namespace test_stream
}  // namespace assay
