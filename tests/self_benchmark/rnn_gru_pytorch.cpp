// ratio: PyTorch's over native forward inference, gru_lbr:1024-64-1500 with linear input, fp32
// target: >= 1.15
// or: rnn_gru_peak
// pairs: 6

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::pytorch_over_native(argc, argv, "gru_lbr:1024-64-1500", 1);
}
