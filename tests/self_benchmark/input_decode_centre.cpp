// ratio: the same with the centre crops of evaluation: nearly whole images
// target: >= 0.85
// pairs: 20
// needs: JPEG assay_datasets

#include "tests/self_benchmark/support/input_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&] { return input_ratio(pairs_from(argc, argv), false); });
}
