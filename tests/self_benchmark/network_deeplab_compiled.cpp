// ratio: PyTorch's compiled over assay-train's step of deeplab:h96w144, batch 1, Adam, fp32
// target: >= 1.3
// pairs: 6
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::print_network_ratio(
      {.network = "deeplab:h96w144", .batch = "1", .optimizer = "adam", .compiled = true}, argc,
      argv);
}
