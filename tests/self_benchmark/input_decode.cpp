// ratio: the input pipeline's images/s (training) over a bare libjpeg-turbo loop's, 1 thread
// target: >= 0.85
// pairs: 20
// needs: JPEG assay_datasets

#include "tests/self_benchmark/support/input_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] { return input_ratio(pairs_from(argc, argv), true); });
}
