// ratio: PyTorch's (autocast) over assay-resnet50's step, batch 16, bf16
// target: >= 1.1
// pairs: 10
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return network_ratio({{"batch", "16"}, {"precision", "bf16"}},
                         {"--mode", "train", "--batch", "16", "--precision", "bf16"},
                         pairs_from(argc, argv), 1);
  });
}
