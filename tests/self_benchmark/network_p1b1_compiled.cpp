// ratio: PyTorch's compiled over assay-train's step of CANDLE's P1B1, batch 100, Adam, fp32
// target: >= 1.3
// pairs: 6
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::print_network_ratio({.network = "candle-p1b1:i60483",
                                                     .batch = "100",
                                                     .optimizer = "adam",
                                                     .compiled = true,
                                                     .samples = 3},
                                                    argc, argv);
}
