// ratio: eager PyTorch's over assay-resnet50's inference, batch 32, fp32
// target: >= 1.3
// pairs: 10
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return network_ratio({{"batch", "32"}, {"direction", "inference"}},
                         {"--mode", "inference", "--batch", "32"}, pairs_from(argc, argv), 1);
  });
}
