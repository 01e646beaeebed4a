// ratio: PyTorch's compiled over assay-train's step of CANDLE's P1B2, batch 60, RMSprop, fp32
// target: >= 1.3
// pairs: 10
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return network_ratio(
        {{"problem", "candle-p1b2:i28204"},
         {"batch", "60"},
         {"optimizer", "rmsprop"},
         {"alpha", "0.9"},
         {"rate", "0.001"},
         {"scaling", "none"},
         {"precision", "fp32"}},
        {"--network", "candle-p1b2:i28204", "--batch", "60", "--optimizer", "rmsprop", "--compile"},
        pairs_from(argc, argv), 3);
  });
}
