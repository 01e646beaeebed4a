// ratio: oneDNN's direct over native implicit GEMM, mb16ic64ih112oc128oh112kh3ph1, fp32
// target: >= 0.8
// pairs: 30

#include "tests/self_benchmark/support/conv_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return conv_ratio(pairs_from(argc, argv), "mb16ic64ih112oc128oh112kh3ph1", "onednn/direct",
                      "native/implicit_gemm");
  });
}
