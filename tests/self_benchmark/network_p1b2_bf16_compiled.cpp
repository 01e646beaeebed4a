// ratio: PyTorch's compiled over assay-train's step of CANDLE's P1B2, batch 60, RMSprop, bf16
// target: >= 1.3
// pairs: 10
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::print_network_ratio({.network = "candle-p1b2:i28204",
                                                     .batch = "60",
                                                     .optimizer = "rmsprop",
                                                     .precision = "bf16",
                                                     .compiled = true,
                                                     .samples = 3},
                                                    argc, argv);
}
