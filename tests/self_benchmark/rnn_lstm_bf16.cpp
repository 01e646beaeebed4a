// ratio: oneDNN's over native forward inference, lstm:1024-64-25 with linear input, bf16
// target: >= 1.0
// pairs: 20

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::onednn_over_native(argc, argv, "lstm:1024-64-25",
                                                   "forward_inference", "bf16");
}
