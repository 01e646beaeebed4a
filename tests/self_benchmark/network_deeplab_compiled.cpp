// ratio: PyTorch's compiled over assay-train's step of deeplab:h96w144, batch 1, Adam, fp32
// target: >= 1.3
// pairs: 5
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return network_ratio(
        {{"problem", "deeplab:h96w144"},
         {"batch", "1"},
         {"optimizer", "adam"},
         {"rate", "0.001"},
         {"scaling", "none"},
         {"precision", "fp32"}},
        {"--network", "deeplab:h96w144", "--batch", "1", "--optimizer", "adam", "--compile"},
        pairs_from(argc, argv), 1);
  });
}
