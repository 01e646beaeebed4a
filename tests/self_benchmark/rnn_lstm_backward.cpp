// ratio: oneDNN's over native gradients of data and weights, lstm:1024-64-25, linear, fp32
// target: >= 1.0
// pairs: 20

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::onednn_over_native(argc, argv, "lstm:1024-64-25", "bwd");
}
