// ratio: oneDNN's direct over native Winograd F(4x4), mb16ic64ih112oc128oh112kh3ph1, fp32
// target: >= 1.5
// pairs: 30

#include "tests/self_benchmark/support/conv_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] {
    return conv_ratio(pairs_from(argc, argv), "mb16ic64ih112oc128oh112kh3ph1", "onednn/direct",
                      "native/winograd_4x4");
  });
}
